// Who writes, how the service is, and by what the account is reached.
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { begin, get, isOffered, post, remove, withQuery } from './api.js';
import { ChangeList, Dialog, Json, Problem, Time, Waiting, count, many, quietly, useLoad, useTitle, view, words } from './parts.js';

const WRITERS = 50;

/** By what a withdrawal names a writer: what is known best of it. @param {any} writer @returns {[string, string] | null} */
function nameOf(writer) {
  const by = writer.by ?? {};
  if (by.thumbprint) return ['by_agent', by.thumbprint];
  if (by.method === 'key') return ['by_key', by.credential];
  if (by.method === 'oauth' && by.credential_name) return ['by_client', by.credential_name];
  return writer.client ? ['by_client', writer.client] : null;
}

export function Writers() {
  useTitle('Writers');
  const log = '/changes?event_types=writing.withdrawn&event_types=writing.reinstated&limit=100';
  const loaded = useLoad('writers', async (signal) => {
    const [stats, turns, me] = await Promise.all([get('/stats', signal), quietly(log, signal), get('/me', signal)]);
    return { stats, turns, me };
  });
  // One request for each writer: the view does not wait for them.
  const writers = (loaded.data?.stats.writers ?? []).slice(0, WRITERS);
  const newest = useLoad(JSON.stringify(writers), (signal) => Promise.all(writers.map((/** @type {any} */ each) => {
    const name = nameOf(each);
    return name ? quietly(withQuery('/changes', { [name[0]]: name[1], limit: 1 }), signal) : null;
  })));
  const [deed, set] = useState(/** @type {any} */ (null));
  if (!loaded.data) return html`<h1>Writers</h1><${Waiting} loaded=${loaded} />`;
  const { stats, turns, me } = loaded.data;
  const done = (/** @type {string} */ said) => { set({ said }); loaded.reload(); };
  const state = quarantined(turns.changes ?? []);
  return html`<h1>Writers</h1>
    ${deed?.said && !deed.path && html`<p class="done" role="status">${deed.said}</p>`}
    ${stats.writers.length ? html`<ul class="rows writers">${writers.map((/** @type {any} */ each, /** @type {number} */ index) => html`<${Writer} key=${index} writer=${each} last=${newest.data?.[index]?.changes?.[0]} isSelf=${each.written_by === me.next_write.written_by} state=${state} act=${set} mayWrite=${me.scopes.includes('write')} />`)}</ul>`
      : html`<p class="empty">Nobody has written yet. Store something with <code>graphmem store</code>, and its writer appears here.</p>`}
    ${stats.writers.length > WRITERS && html`<p class="soft">Only the first ${WRITERS} of ${count(stats.writers.length)} are shown.</p>`}
    ${isOffered('POST /reinstate') && html`<section aria-labelledby="taken"><h2 id="taken">Taken back</h2><${TakenBack} changes=${turns.changes ?? []} act=${set} /></section>`}
    ${deed?.path && html`<${Turn} deed=${deed} close=${() => set(null)} done=${done} />`}
    <${Json} answers=${{ 'GET /stats': { writers: stats.writers }, [`GET ${log}`]: turns }} />`;
}

/** What a withdrawal by writer names: `wrt_`, two times in microseconds, and the writer. @param {string} subject */
const parsed = (subject) => /^wrt_(\d{20})(\d{20})(\w+):(.*)$/s.exec(subject);

/** A time in microseconds since 1970; the least and the greatest stand for no limit. @param {string} digits */
function moment(digits) {
  const time = Number(digits.slice(0, -3));
  return time > 0 && time < Date.UTC(9999, 11, 31) ? `${new Date(time).toISOString().slice(0, -1)}${digits.slice(-3)}Z` : null;
}

/** The writers whose quarantine lasts, such as `client:rest`. @param {any[]} changes the newest first */
function quarantined(changes) {
  /** @type {Map<string, boolean>} */
  const states = new Map();
  for (const each of changes) {
    const found = parsed(each.subject ?? '');
    const key = found && `by_${found[3]}:${found[4]}`;
    if (key && /^agents\.(quarantine|release)$/.test(each.operation) && !states.has(key)) states.set(key, each.operation === 'agents.quarantine');
  }
  return states;
}

/** @param {any} props */
function Writer({ writer, last, isSelf, state, act, mayWrite }) {
  const name = nameOf(writer);
  const key = name?.join(':');
  const isApart = state.get(key) ?? false;
  const body = name && { [name[0]]: name[1] };
  const turn = (/** @type {any} */ more) => () => act({ writer: writer.written_by, body, ...more });
  return html`<li><span><b><bdi>${writer.written_by}</bdi></b> ${isSelf && html`<span class="badge">you</span>`} ${isApart && html`<span class="badge warn">in quarantine</span>`}
      <br /><span class="soft">${many(writer.transactions, 'transaction')}${last && html`, the newest <${Time} at=${last.timestamp} />`}${writer.by?.tier && `, ${words(writer.by.tier)}`}</span></span>
    <span class="deeds">${name && html`<a href=${view('/changes', body ?? {})}>What it wrote</a>`}
      ${mayWrite && isOffered('POST /withdraw') && html`<button class="quiet" aria-label=${`Take back what was written by ${writer.written_by}`} onClick=${turn({ path: '/withdraw', title: 'Take back what was written?', verb: 'Take back', said: 'It counts no more. It is listed below, and can be reinstated.', hasTimes: true, isSelf })}>Take back …</button>
        ${isApart ? isOffered('POST /agents/release') && html`<button class="quiet" onClick=${turn({ path: '/agents/release', title: 'End the quarantine?', verb: 'Release', said: 'It is released.', about: 'What it wrote meanwhile counts, and so does what it writes next.' })}>Release …</button>`
          : !isSelf && isOffered('POST /agents/quarantine') && html`<button class="quiet" onClick=${turn({ path: '/agents/quarantine', title: 'Quarantine this writer?', verb: 'Quarantine', said: 'What it writes from now on is kept apart.', about: 'What it writes from now on is stored and does not count, until you release it. What it wrote before stays.' })}>Quarantine …</button>`}`}</span></li>`;
}

/** What a writer's change would do, and the deed. @param {any} props */
function Turn({ deed, close, done }) {
  const [times, put] = useState({ since: '', until: deed.isSelf ? new Date().toISOString().slice(0, 19) : '' });
  const [state, set] = useState(/** @type {any} */ ({}));
  const at = (/** @type {string} */ text) => (text ? `${text.length === 16 ? `${text}:00` : text}Z` : undefined);
  const body = deed.hasTimes ? { ...deed.body, ...(times.since && { since: at(times.since) }), ...(times.until && { until: at(times.until) }) } : deed.body;
  const preview = useLoad(JSON.stringify(body), (signal) => (deed.about ? Promise.resolve({}) : post(deed.path, { ...body, dry_run: true, limit: 50, max_characters: 200_000 }, signal)));
  const go = () => {
    set({ busy: true });
    post(deed.path, body).then(() => done(deed.said), (error) => set({ error }));
  };
  const counts = preview.data?.counts;
  const time = (/** @type {string} */ name, /** @type {string} */ label) => html`<label>${label} <input type="datetime-local" step="1" value=${times[/** @type {'since' | 'until'} */ (name)]} onChange=${(/** @type {any} */ event) => put({ ...times, [name]: event.target.value })} /></label>`;
  return html`<${Dialog} title=${deed.title} close=${close}>
    <p><b><bdi>${deed.writer}</bdi></b>. ${deed.about}</p>
    ${deed.hasTimes && html`<div class="filters">${time('since', 'From')}${time('until', 'Until')}<span class="soft">UTC. ${times.until ? '' : 'Without an end, what it writes later does not count either.'}</span></div>`}
    ${!deed.about && (preview.data && !preview.busy ? html`<p>${many(counts?.observations ?? 0, 'observation')} of ${many(counts?.entities ?? 0, 'entity')} and ${many(counts?.relationships ?? 0, 'relationship')} change.</p>
      <${ChangeList} entities=${preview.data.entities} />${preview.data.next_cursor && html`<p class="soft">The first of them are shown.</p>`}` : html`<${Waiting} loaded=${preview} />`)}
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${!preview.data || preview.busy || state.busy} onClick=${go}>${deed.verb}</button><button onClick=${close}>Cancel</button></div>
  </${Dialog}>`;
}

/** What was taken back by writer, with a way to have it count again. @param {{changes: any[], act: (deed: any) => void}} props */
function TakenBack({ changes, act }) {
  const seen = new Set();
  const lasting = changes.filter((each) => {
    const isNewest = !seen.has(each.subject);
    seen.add(each.subject);
    return isNewest && each.action === 'withdrawn' && each.operation !== 'agents.quarantine' && parsed(each.subject ?? '');
  });
  if (!lasting.length) return html`<p class="soft">Nothing of a writer was taken back.</p>`;
  return html`<ul class="plain">${lasting.map((each) => {
    const [, since, until, kind, name] = /** @type {RegExpExecArray} */ (parsed(each.subject));
    const [from, to] = [since, until].map(moment);
    const body = { [`by_${kind}`]: name, ...(from && { since: from }), ...(to && { until: to }) };
    return html`<li key=${each.subject}><bdi>${kind} ${name}</bdi> <span class="soft">${from && html`from <${Time} at=${from} /> `}${to ? html`until <${Time} at=${to} />` : 'and all later'}, taken back <${Time} at=${each.timestamp} /></span>
      <button class="quiet" aria-label=${`Reinstate what ${kind} ${name} wrote`} onClick=${() => act({ path: '/reinstate', title: 'Reinstate what was taken back?', verb: 'Reinstate', said: 'It counts again.', writer: `${kind} ${name}`, body })}>Reinstate …</button></li>`;
  })}</ul>`;
}

/** @type {Record<string, string>} */
const SIGNS = { ok: 'ok', warn: 'warning', fail: 'fault' };

export function Health() {
  useTitle('Health');
  const loaded = useLoad('health', async (signal) => {
    const [health, info, stats] = await Promise.all([get('/health', signal), get('/server-info', signal), get('/stats', signal)]);
    return { health, info, stats };
  });
  // The doctor looks at the machine for seconds.
  const doctor = useLoad('doctor', async (signal) => (isOffered('GET /doctor') ? get('/doctor', signal) : null));
  const [check, set] = useState(/** @type {any} */ ({}));
  const compare = (/** @type {string | undefined} */ cursor) => {
    set((/** @type {any} */ known) => ({ ...known, busy: true }));
    post('/health_check_snapshots', cursor ? { cursor } : {}).then((answer) => {
      set({ answer, busy: Boolean(answer.next_cursor) });
      // Who leaves the page waits no longer.
      if (answer.next_cursor && document.getElementById('doctor')) compare(answer.next_cursor);
    }, (error) => set({ error }));
  };
  if (!loaded.data) return html`<h1>Health</h1><${Waiting} loaded=${loaded} />`;
  const { health, info, stats } = loaded.data;
  return html`<h1>Health</h1>
    <div class="panels"><section class="panel"><h2>Service</h2><dl class="inner"><div><dt>version</dt><dd>${health.version}, ${info.environment}</dd></div><div><dt>database</dt><dd>${health.database}</dd></div>
        <div><dt>login</dt><dd>${info.authentication === 'none' ? 'none is needed' : words(info.authentication)}</dd></div><div><dt>API</dt><dd><bdi>${info.api_base}</bdi></dd></div><div><dt>MCP</dt><dd><bdi>${info.mcp_url}</bdi></dd></div>
        <div><dt>sealed</dt><dd>${info.sealed ? info.sealed.join(', ') : 'nothing'}</dd></div></dl></section>
      <section class="panel"><h2>Stored</h2><dl class="inner">${['entities', 'observations', 'relationships', 'events', 'interpretations'].map((name) => html`<div key=${name}><dt>${name}</dt><dd>${count(/** @type {any} */ (stats)[`total_${name}`])}</dd></div>`)}
        <div><dt>files</dt><dd>${count(stats.sources_count)}</dd></div><div><dt>last write</dt><dd>${stats.last_updated ? html`<${Time} at=${stats.last_updated} />` : 'none yet'}</dd></div>
        ${(stats.pending ?? 0) + stats.semantic_pending > 0 && html`<div><dt>behind</dt><dd>${many(stats.pending ?? 0, 'change')} of the index, ${many(stats.semantic_pending, 'vector')}</dd></div>`}</dl></section>
      ${isOffered('POST /health_check_snapshots') && html`<section class="panel"><h2>Snapshots</h2><p class="soft">Derive each snapshot again from its observations, and compare. Nothing is changed.</p>
        <button disabled=${check.busy} onClick=${() => compare(undefined)}>${check.busy ? 'Comparing …' : 'Compare now'}</button>
        ${check.answer && html`<p role="status">${check.answer.healthy || check.busy ? '' : html`<span class="badge warn">fault</span> `}${check.answer.message}. ${count(check.answer.checked)} were checked.</p>`}${check.error && html`<${Problem} error=${check.error} />`}</section>`}</div>
    <section aria-labelledby="doctor"><h2 id="doctor">What the doctor finds</h2>${!isOffered('GET /doctor') ? html`<p class="empty">You may not see the machine. On it, run <code>graphmem doctor</code>.</p>` : doctor.data ? html`<${Findings} answer=${doctor.data} />` : html`<${Waiting} loaded=${doctor} />`}</section>
    <${Json} answers=${{ 'GET /health': health, 'GET /server-info': info, 'GET /stats': stats, 'GET /doctor': doctor.data, 'POST /health_check_snapshots': check.answer }} />`;
}

/** @param {{answer: any}} props */
function Findings({ answer }) {
  const order = ['fail', 'warn', 'ok'];
  const sorted = [...answer.findings].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  return html`<ul class="rows findings">${sorted.map((each, index) => html`<li key=${index}><span class=${each.status === 'ok' ? 'badge' : 'badge warn'}>${SIGNS[each.status]}</span>
    <span class="what"><b>${each.check}</b>: <bdi>${each.what}</bdi>${each.fix && html`<br /><b>→</b> <bdi>${each.fix}</bdi>`}</span></li>`)}</ul>`;
}

export function Account() {
  useTitle('Account');
  const loaded = useLoad('account', async (signal) => {
    const [me, keys, connections] = await Promise.all([get('/me', signal), isOffered('GET /keys') ? quietly('/keys?limit=100', signal) : null, quietly('/mcp/oauth/connections?limit=100', signal)]);
    return { me, keys, connections };
  });
  const [deed, set] = useState(/** @type {any} */ (null));
  if (!loaded.data) return html`<h1>Account</h1><${Waiting} loaded=${loaded} />`;
  const { me, keys, connections } = loaded.data;
  const done = (/** @type {any} */ what) => { set(what); loaded.reload(); };
  return html`<h1>Account</h1>
    <p>You are <b><bdi>${me.account}</bdi></b> with the scopes ${[...me.scopes].sort().join(', ')}. What you write is recorded as written by <bdi>${me.next_write.written_by}</bdi>: ${me.next_write.why}.</p>
    <p><a href="#/programs">Subscriptions, and grants of agents</a></p>
    ${deed?.said && !deed.path && html`<p class="done" role="status">${deed.said}</p>`}
    ${deed?.secret && html`<${Secret} key=${deed.secret} ...${deed} />`}
    ${keys && html`<section aria-labelledby="keys"><h2 id="keys">API keys</h2>${keys.error ? html`<${Problem} error=${keys.error} />` : html`<${Keys} keys=${keys.keys} act=${set} />`}<${NewKey} me=${me} done=${done} /></section>`}
    ${isOffered('DELETE /mcp/oauth/connections/{id}') && html`<section aria-labelledby="connections"><h2 id="connections">Connected programs</h2>${connections.error ? html`<${Problem} error=${connections.error} />` : html`<${Connections} connections=${connections.connections} own=${me.credential} act=${set} />`}</section>`}
    ${deed?.path && html`<${Revoke} deed=${deed} close=${() => set(null)} done=${done} />`}
    <${Json} answers=${{ 'GET /me': me, 'GET /keys?limit=100': keys, 'GET /mcp/oauth/connections?limit=100': connections }} />`;
}

/** A new key, which goes on with the button that copies it. @param {{secret: string, hint: string}} props */
function Secret({ secret, hint }) {
  const copy = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => copy.current?.focus(), []);
  return html`<div class="done" role="status"><p>The new key. It is shown this once: keep it where its program finds it.</p>
    <p><code class="secret">${secret}</code> <button class="quiet" ref=${copy} onClick=${() => navigator.clipboard?.writeText(secret)}>Copy</button></p><p class="soft">${hint}</p></div>`;
}

/** Who made a key, as the list says it. @param {any[]} keys @param {string | null} id */
function maker(keys, id) {
  if (!id) return '';
  return id === 'page' ? ' on this page' : ` with ${keys.find((each) => each.key_id === id)?.name ?? id}`;
}

/** @param {{keys: any[], act: (deed: any) => void}} props */
function Keys({ keys, act }) {
  if (!keys.length) return html`<p class="empty">There is no key. A program that has one may call the API; make one for each program.</p>`;
  return html`<ul class="rows">${keys.map((each) => html`<li key=${each.key_id}><span><b><bdi>${each.name}</bdi></b> ${each.state !== 'active' && html`<span class="badge warn">${each.state}</span>`}
      <br /><span class="soft">scopes ${each.scopes.join(', ')}; made <${Time} at=${each.created_at} />${maker(keys, each.made_by)}, ${each.last_used_at ? html`last used <${Time} at=${each.last_used_at} />` : 'never used'}${each.expires_at && html`, until <${Time} at=${each.expires_at} />`}</span></span>
    ${each.state === 'active' && html`<button class="quiet" aria-label=${`Revoke the key ${each.name}`} onClick=${() => act({ path: [`/keys/${each.key_id}`], title: 'Revoke this key?', about: `No process accepts ${each.name} after 5 seconds. A program that uses it needs another one.`, said: 'The key is revoked.', verb: 'Revoke' })}>Revoke …</button>`}</li>`)}</ul>`;
}

/** @param {{me: any, done: (what: any) => void}} props */
function NewKey({ me, done }) {
  const offered = [...me.scopes].filter((each) => each !== 'keys').sort();
  const [form, fill] = useState({ name: '', scopes: offered.filter((each) => each !== 'admin'), days: '' });
  const [state, set] = useState(/** @type {any} */ ({}));
  const make = (/** @type {Event} */ event) => {
    event.preventDefault();
    set({ busy: true });
    const body = { name: form.name.trim(), scopes: form.scopes, ...(form.days && { expires_in_days: Number(form.days) }) };
    post('/keys', body).then((answer) => { set({}); fill({ ...form, name: '' }); done({ secret: answer.secret, hint: answer.hint }); }, (error) => set({ error }));
  };
  const turn = (/** @type {string} */ scope) => fill({ ...form, scopes: form.scopes.includes(scope) ? form.scopes.filter((/** @type {string} */ each) => each !== scope) : [...form.scopes, scope] });
  if (me.authentication === 'oauth' && !me.scopes.includes('keys')) {
    return html`<p>To make a key, say once more who you are, by your password or a one-time code: a key goes on working when you have logged out.
      <button onClick=${() => begin('read write keys').catch((error) => set({ error }))}>Make a key …</button></p>${state.error && html`<${Problem} error=${state.error} />`}`;
  }
  return html`<details><summary>Make a key</summary><form class="filters" onSubmit=${make}>
      <label>Name <input required maxlength="100" value=${form.name} onInput=${(/** @type {any} */ event) => fill({ ...form, name: event.target.value })} /></label>
      ${offered.map((each) => html`<label key=${each}><input type="checkbox" checked=${form.scopes.includes(each)} onChange=${() => turn(each)} /> ${each}</label>`)}
      <label>Days <input type="number" min="1" max="3650" placeholder="no end" value=${form.days} onInput=${(/** @type {any} */ event) => fill({ ...form, days: event.target.value })} /></label>
      <button class="strong" disabled=${state.busy || !form.name.trim() || !form.scopes.length}>Make</button></form>
    ${me.authentication === 'none' && html`<p class="warning">Nothing guards this service yet. Its first key does: from then on every caller over the network needs a key or a login, and so does this page.</p>`}
    ${state.error && html`<${Problem} error=${state.error} />`}</details>`;
}

/** @param {{connections: any[], own: string | undefined, act: (deed: any) => void}} props */
function Connections({ connections, own, act }) {
  const path = (/** @type {any} */ each) => `/mcp/oauth/connections/${encodeURIComponent(each.connection_id)}`;
  if (!connections.length) return html`<p class="empty">No program is connected. One that speaks MCP asks you for a connection when it is given the address of this service.</p>`;
  return html`<ul class="rows">${connections.map((each) => html`<li key=${each.connection_id}><span><b><bdi>${each.client_name}</bdi></b> ${each.connection_id === own && html`<span class="badge">this page</span>`}
      <br /><span class="soft">scopes ${each.scopes.join(', ')}; since <${Time} at=${each.created_at} />, ${each.last_used_at ? html`last used <${Time} at=${each.last_used_at} />` : 'never used'}</span></span>
    <button class="quiet" aria-label=${each.connection_id === own ? 'End the connection of this page' : `End the connection of ${each.client_name}`} onClick=${() => act({ path: [path(each)], title: 'End this connection?', about: `${each.client_name} and all its tokens stop working within 5 seconds.`, said: 'The connection has ended.', verb: 'End it' })}>End …</button></li>`)}</ul>
    <button onClick=${() => act({ path: [...connections].sort((a, b) => Number(a.connection_id === own) - Number(b.connection_id === own)).map(path), title: 'Log out everywhere?', about: `${connections.length === 1 ? 'The connection of this page ends, which is the only one.' : `All ${many(connections.length, 'connection')} end, that of this page among them.`} Keys stay.`, said: 'All connections have ended.', verb: 'Log out everywhere', isAll: true })}>Log out everywhere …</button>`;
}

/** @param {any} props */
export function Revoke({ deed, close, done }) {
  const [state, set] = useState(/** @type {any} */ ({}));
  const go = async () => {
    set({ busy: true });
    try {
      // That of this page is the last of all, since nothing more can be sent without it.
      for (const act of deed.acts ?? deed.path.map((/** @type {string} */ path) => () => remove(path))) await act();
      done({ said: deed.said });
    } catch (error) {
      set({ error });
    }
  };
  return html`<${Dialog} title=${deed.title} close=${close}><p>${deed.about}</p>
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${state.busy} onClick=${go}>${deed.verb}</button><button onClick=${close}>Cancel</button></div></${Dialog}>`;
}
