// Lists: the entities of a type, the timeline, and what changed.
import { html, useEffect, useState } from '../vendor/preact.js';
import { follow, get, isOffered, post, withQuery } from './api.js';
import { Entity, Json, Match, Pager, Time, Type, Undo, Waiting, Was, count, many, useLoad, useTitle, view, words, writer } from './parts.js';

/** @typedef {import('./parts.js').Place} Place */

const BRIEF_CHARACTERS = 40;
const VALUES_CHARACTERS = 300_000;
const BRIEF_FIELDS = 8;

const SAMPLE = 500;
const MONTHS_SHOWN = 24;
const VALUES_OF_FACET = 8;
const WRITERS = /** @type {const} */ (['by_client', 'by_key', 'by_agent']);

/** What a list of entities is narrowed to, as the address and as the request have it. @param {Record<string, string>} query */
function narrowed({ type, q, is = '', ...query }) {
  const [field, value] = is.split('=', 2).map(decodeURIComponent);
  const by = Object.fromEntries(WRITERS.filter((each) => query[each]).map((each) => [each, query[each]]));
  return { ...(type && { entity_type: type }), ...(q && { search: q }), ...by, ...(is && { snapshot_filters: { [field]: { op: /** @type {'eq'} */ ('eq'), value: JSON.parse(value) } } }) };
}

/** @param {{place: Place}} props */
export function Entities({ place }) {
  useTitle('Entities');
  const { type, cursor, skip = '0', sort = 'last_observation_at', ...rest } = place.query;
  const filters = narrowed({ type, ...rest });
  const order = filters.search ? {} : { sort_by: sort, sort_order: /** @type {'asc' | 'desc'} */ (sort === 'canonical_name' ? 'asc' : 'desc') };
  /** @type {import('./api.js').Body<'/entities/query'>} */
  const asked = { limit: 50, ...order, include_snapshots: false, include_total_count: true, ...filters, ...(cursor && { cursor }) };
  // Where values are long, those of the first entities alone: the list has all names. A cursor holds for its own request.
  const { cursor: _, ...first } = asked;
  const valued = { ...first, offset: Number(skip), include_snapshots: true, include_total_count: false, provenance: /** @type {'none'} */ ('none'), max_characters: VALUES_CHARACTERS };
  const loaded = useLoad(JSON.stringify(asked), async (signal) => {
    const [list, values] = await Promise.all([post('/entities/query', asked, signal), post('/entities/query', valued, signal).catch(() => null)]);
    return { list, snapshots: new Map((values?.entities ?? []).map((each) => [each.entity_id, each.snapshot])) };
  });
  const orders = [['last_observation_at', 'newest first'], ['canonical_name', 'by name'], ['observation_count', 'most observed first']];
  const find = (/** @type {Event} */ event) => {
    event.preventDefault();
    location.hash = view(place.path, { type, ...rest, q: new FormData(/** @type {HTMLFormElement} */ (event.target)).get('q') });
  };
  return html`<h1>${type ? html`Entities of the type <${Type} type=${type} />` : 'Entities'}</h1>
    <form class="filters" onSubmit=${find}><label>Words <input name="q" type="search" dir="auto" key=${rest.q} defaultValue=${rest.q ?? ''} /></label><button>Filter</button>
      ${!filters.search && orders.map(([name, text]) => html`<a key=${name} href=${view(place.path, { ...rest, type, sort: name })} aria-current=${name === sort ? 'true' : undefined}>${text}</a>`)}
      ${Object.keys(rest).filter((each) => !['q', 'sort'].includes(each)).map((each) => html`<a key=${each} class="choice" href=${view(place.path, { ...place.query, [each]: '', cursor: '', skip: '' })}>${each === 'is' ? decodeURIComponent(rest.is).replace('=', ': ') : `${words(each)} ${rest[each]}`} ✕</a>`)}</form>
    <div class="narrowed"><div>${loaded.data && !loaded.busy ? html`<${Table} ...${loaded.data} place=${place} />` : html`<${Waiting} loaded=${loaded} />`}</div>
      ${type && html`<${Facets} filters=${filters} place=${place} />`}</div>
    <${Json} answers=${{ [`POST /entities/query ${JSON.stringify(asked)}`]: loaded.data?.list }} />`;
}

/** Values and writers of a list with how many have each, of which one narrows it. @param {{filters: Record<string, any>, place: Place}} props */
function Facets({ filters, place }) {
  /** @type {import('./api.js').Body<'/entities/query'>} */
  const asked = { limit: SAMPLE, include_snapshots: true, provenance: 'full', max_characters: 2_000_000, ...filters };
  const loaded = useLoad(JSON.stringify(asked), (signal) => post('/entities/query', asked, signal));
  if (!loaded.data) return html`<section><h2>Narrow it</h2><${Waiting} loaded=${loaded} /></section>`;
  /** @type {Map<string, Map<string, number>>} */
  const facets = new Map();
  const add = (/** @type {string} */ name, /** @type {string} */ value) => {
    const counts = facets.get(name) ?? new Map();
    facets.set(name, counts.set(value, (counts.get(value) ?? 0) + 1));
  };
  const { entities } = loaded.data;
  for (const each of entities) for (const [name, value] of Object.entries(each.snapshot ?? {})) if (['string', 'number', 'boolean'].includes(typeof value) && String(value).length <= BRIEF_CHARACTERS) add(name, JSON.stringify(value));
  for (const each of Object.values(loaded.data.provenance_observations ?? {})) add('', each.provenance?.client ?? '');
  const known = [...facets].filter(([name, counts]) => (name ? counts.size > 1 && counts.size <= 40 && counts.size <= entities.length / 2 : counts.size > 1));
  const months = html`<${Months} entities=${entities} isPart=${Boolean(loaded.data.next_cursor)} />`;
  if (!known.length) return html`<section>${months}</section>`;
  const link = (/** @type {string} */ name, /** @type {string} */ value) => view(place.path, { ...place.query, cursor: '', skip: '', ...(name ? { is: `${encodeURIComponent(name)}=${encodeURIComponent(value)}` } : { by_client: value }) });
  return html`<section aria-labelledby="narrow"><h2 id="narrow">Narrow it</h2>${loaded.data.next_cursor && html`<p class="soft">Counted of ${count(entities.length)} of them.</p>`}
    ${months}<div class="facets">${known.slice(0, 12).map(([name, counts]) => html`<div key=${name}><h3>${name ? words(name) : 'observed by'}</h3><ul class="plain">${[...counts].sort(([, a], [, b]) => b - a).slice(0, VALUES_OF_FACET).map(([value, number]) => html`<li key=${value}><a href=${link(name, value)}><bdi>${name ? String(JSON.parse(value)) : value || 'no program'}</bdi></a> <span class="soft">${count(number)}</span></li>`)}</ul></div>`)}</div></section>`;
}

/** How many entities were last observed in each month, as bars. @param {{entities: any[], isPart: boolean}} props */
function Months({ entities, isPart }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const each of entities) counts.set((each.last_observation_at ?? '').slice(0, 7), (counts.get((each.last_observation_at ?? '').slice(0, 7)) ?? 0) + 1);
  counts.delete('');
  const [last = ''] = [...counts.keys()].sort().reverse();
  if (counts.size < 2) return null;
  const first = [...counts.keys()].sort()[0];
  const months = Array.from({ length: MONTHS_SHOWN }, (_, back) => new Date(Date.UTC(Number(last.slice(0, 4)), Number(last.slice(5)) - 1 - back)).toISOString().slice(0, 7)).filter((each) => each >= first).reverse();
  const most = Math.max(...months.map((each) => counts.get(each) ?? 0));
  const before = [...counts].reduce((sum, [month, number]) => sum + (month < months[0] ? number : 0), 0);
  const label = `Last observed by month${isPart ? ', of the entities counted here' : ''}: ${months.filter((each) => counts.get(each)).map((each) => `${each} ${count(counts.get(each) ?? 0)}`).join(', ')}`;
  return html`<figure class="months"><figcaption>Last observed by month, at most ${count(most)}</figcaption><svg viewBox=${`0 0 ${months.length * 10} 50`} preserveAspectRatio="none" role="img" aria-label=${label}>${months.map((each, index) => html`<rect key=${each} x=${index * 10 + 1} y=${50 - (46 * (counts.get(each) ?? 0)) / most} width="8" height=${(46 * (counts.get(each) ?? 0)) / most}><title>${each}: ${count(counts.get(each) ?? 0)}</title></rect>`)}</svg>
    <p class="soft"><span>${months[0]}${before ? ` (${count(before)} before)` : ''}</span><span>${last}</span></p></figure>`;
}

/** @param {{list: import('./api.js').Posted<'/entities/query'>, snapshots: Map<string, any>, place: Place}} props */
function Table({ list, snapshots, place }) {
  if (!list.entities.length) return html`<${Match} answer=${list} /><p class="empty">No entity fits. <a href="#/">Look at the types that there are.</a></p>`;
  return html`<${Match} answer=${list} /><p class="soft">${list.total === undefined ? `${count(list.entities.length)} on this page` : `${count(list.total)} in all`}</p>
    <ul class="rows">${list.entities.map((each) => html`<li key=${each.entity_id}><span><${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} /><${Brief} name=${each.canonical_name} snapshot=${snapshots.get(each.entity_id)} /></span>
      <span class="soft">${many(each.observation_count, 'observation')}, last <${Time} at=${each.last_observation_at} day=${true} /></span></li>`)}</ul>
    <${Pager} place=${place} next=${list.next_cursor} shown=${list.entities.length} />`;
}

/** The short values of an entity, so that a list answers what is open, due or paid. @param {{name: string, snapshot: Record<string, any> | undefined}} props */
function Brief({ name: own, snapshot }) {
  const short = Object.entries(snapshot ?? {}).filter(([, value]) => value !== null && typeof value !== 'object' && value !== own && String(value).length <= BRIEF_CHARACTERS);
  return html`<span class="was brief">${short.slice(0, BRIEF_FIELDS).map(([name, value], index) => html`${index ? ', ' : ''}${words(name)} <b><bdi>${String(value)}</bdi></b>`)}</span>`;
}

/** @param {{place: Place}} props */
export function Timeline({ place }) {
  useTitle('Timeline');
  const { from, to, type, entity, order = 'desc', cursor } = place.query;
  const path = withQuery('/timeline', { from, to, entity_type: type, entity_id: entity, order, cursor, limit: 50 });
  const list = useLoad(path, (signal) => get(path, signal));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    location.hash = view(place.path, { from, to, type, entity, order, [name]: event.target.value });
  };
  return html`<h1>Timeline</h1>${entity && html`<${OfOne} place=${place} />`}
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>From <input type="date" value=${from ?? ''} onChange=${set('from')} /></label>
      <label>To <input type="date" value=${to ?? ''} onChange=${set('to')} /></label>
      <label>Type <input value=${type ?? ''} placeholder="any" onChange=${set('type')} /></label>
      <label>Order <select value=${order} onChange=${set('order')}><option value="desc">latest first</option><option value="asc">earliest first</option></select></label>
    </form>
    ${list.data && !list.busy ? html`<${Events} list=${list.data} place=${place} />` : html`<${Waiting} loaded=${list} />`}
    <${Json} answers=${{ [`GET ${path}`]: list.data }} />`;
}

/** @param {{list: import('./api.js').Answer<'/timeline'>, place: Place}} props */
export function Events({ list, place }) {
  if (!list.events.length) return html`<p class="empty">No date fits. Dates come from fields such as <code>due</code>, <code>date</code> or <code>start_time</code>; take away a filter to see more.</p>`;
  /** @type {Map<string, any[]>} */
  const years = new Map();
  for (const each of list.events) {
    const month = each.event_timestamp.slice(0, 7);
    years.set(month, [...(years.get(month) ?? []), each]);
  }
  return html`${[...years].map(([month, events]) => html`<section key=${month}><h2>${month}</h2>
    <ul class="rows dated">${events.map((each) => html`<li key=${each.id}><${Time} at=${each.event_timestamp} day=${each.precision === 'day'} />
      <span><${Entity} id=${each.entity_id} name=${each.entity_name} type=${each.entity_type} /> <span class="soft">${words(each.source_field)}</span></span></li>`)}</ul></section>`)}
    <${Pager} place=${place} next=${list.next_cursor} shown=${list.events.length} />`;
}

/** Says that a list is that of one entity, and leads to all. @param {{place: Place}} props */
function OfOne({ place }) {
  return html`<p>Of <${Entity} id=${place.query.entity} name="one entity" /> only. <a href=${view(place.path)}>Show all</a></p>`;
}

/** @type {Record<string, string>} */
const DEEDS = {
  created: 'is new', updated: 'has other values', corrected: 'was corrected', deleted: 'was deleted', restored: 'was restored',
  merged: 'was merged', unmerged: 'is an entity of its own again', split: 'was split', changed: 'changed', ended: 'ended',
  stored: 'was stored', interpreted: 'was read', withdrawn: 'was withdrawn', reinstated: 'was reinstated', registered: 'was registered',
};

/** What one change did, in words. @param {{change: any}} props */
export function ChangeLine({ change }) {
  const deed = DEEDS[change.action] ?? change.action;
  const fields = change.action !== 'created' && change.fields_changed?.length > 0 && html` <span class="soft">in ${change.fields_changed.slice(0, 6).map(words).join(', ')}${change.fields_changed.length > 6 ? ' …' : ''}</span>`;
  const when = html`<span class="when"><${Time} at=${change.timestamp} /></span> `;
  if (change.relationship_type) {
    return html`${when}<${Entity} id=${change.source_entity_id} name=${change.source_name} /> <b>${words(change.relationship_type)}</b> <${Entity} id=${change.target_entity_id} name=${change.target_name} />: ${deed}${fields}`;
  }
  if (change.entity_id) return html`${when}<${Entity} id=${change.entity_id} name=${change.name} type=${change.entity_type} /> ${deed}${fields}`;
  if (change.source_id) return html`${when}<a href=${view(`/source/${encodeURIComponent(change.source_id)}`)}><bdi>${change.name ?? change.original_filename ?? 'a file'}</bdi></a> ${deed}`;
  const written = change.subject_kind === 'writing' && /^wrt_\d{40}(\w+):(.*)$/s.exec(change.subject);
  if (written) return html`${when}what the ${written[1]} <bdi>${written[2]}</bdi> wrote ${deed}`;
  return html`${when}${words(change.event_type.replace('.', ' '))}: ${deed}`;
}

/**
 * Changes by transaction, and messages by their conversation: the change that says most, how many were made with it, and
 * how many messages.
 * @param {any[]} changes @returns {{change: any, more: number, said: number}[]}
 */
export function grouped(changes) {
  /** @type {Map<string, any[]>} */
  const transactions = new Map();
  for (const each of changes) transactions.set(each.transaction_id, [...(transactions.get(each.transaction_id) ?? []), each]);
  /** @type {Map<string, any[]>} */
  const made = new Map();
  for (const [id, each] of transactions) {
    const talk = each.some(isMessage) && each.find((one) => one.relationship_type === 'PART_OF');
    const key = talk ? talk.target_entity_id : id;
    made.set(key, [...(made.get(key) ?? []), ...each]);
  }
  return [...made.values()].map((each) => {
    const talk = each.some(isMessage) && each.find((one) => one.relationship_type === 'PART_OF');
    const change = talk ? { timestamp: talk.timestamp, entity_id: talk.target_entity_id, name: talk.target_name } : each.find((one) => one.entity_id) ?? each[0];
    return { change, more: each.length - 1, said: talk ? each.filter(isMessage).length : 0 };
  });
}

/** @param {any} change */
const isMessage = (change) => change.entity_type === 'message';

/** @param {{after: string | null}} props what changes from now on, the newest first */
export function useChanges({ after }) {
  const [changes, set] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    if (!after) return undefined;
    const control = new AbortController();
    set([]);
    follow(after, (change) => set((/** @type {any[]} */ known) => [change, ...known].slice(0, 50)), control.signal).catch(() => undefined);
    return () => control.abort();
  }, [after]);
  return changes;
}

/** @param {{place: Place}} props */
export function Changes({ place }) {
  useTitle('Changes');
  const { type, entity, cursor, by_key, by_client, by_agent } = place.query;
  const by = { by_key, by_client, by_agent };
  const writer = by_key ?? by_client ?? by_agent;
  const isWhole = !cursor && !type && !entity && !writer;
  const [undone, undo] = useState(/** @type {string | null} */ (null));
  const path = withQuery('/changes', { entity_type: type, entity_id: entity, ...by, cursor, limit: 50, values: true, max_characters: 300_000 });
  const list = useLoad(path, (signal) => get(path, signal));
  const live = useChanges({ after: !isWhole ? null : list.data?.resume_cursor ?? null });
  const filter = (/** @type {any} */ event) => { location.hash = view(place.path, { entity, ...by, type: event.target.value }); };
  const close = () => undo(null);
  return html`<h1>Changes</h1>${entity && html`<${OfOne} place=${place} />`}${writer && html`<p>Of the writer <bdi>${writer}</bdi> only. <a href=${view(place.path)}>Show all</a></p>`}
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><label>Type <input value=${type ?? ''} placeholder="any" onChange=${filter} /></label>
    ${isWhole && html`<span class="soft">What changes from now on appears here by itself.</span>`}</form>
    ${list.data && !list.busy ? html`<${Transactions} changes=${[...live, ...list.data.changes]} undo=${undo} /><${Pager} place=${place} next=${list.data.next_cursor} shown=${list.data.changes.length} />` : html`<${Waiting} loaded=${list} />`}
    ${undone && html`<${Undo} transaction=${undone} close=${close} done=${() => { close(); list.reload(); }} />`}
    <${Json} answers=${{ [`GET ${path}`]: list.data }} />`;
}

/** Changes by transaction, since one is taken back as a whole. @param {{changes: any[], undo: (transaction: string) => void}} props */
function Transactions({ changes, undo }) {
  if (!changes.length) return html`<p class="empty">Nothing has changed yet.</p>`;
  /** @type {Map<string, any[]>} */
  const transactions = new Map();
  for (const each of changes) transactions.set(each.transaction_id, [...(transactions.get(each.transaction_id) ?? []), each]);
  return html`<div aria-live="polite">${[...transactions].map(([transaction, made]) => html`<section class="panel transaction" key=${transaction}>
    <div class="head"><h2><${Time} at=${made[0].timestamp} /></h2><span class="soft">${words(made[0].operation ?? '')} · <bdi>${writer(made[0].provenance)}</bdi></span>
      ${isOffered('POST /undo') && html`<button class="quiet" onClick=${() => undo(transaction)} aria-label=${`Take back what was written at ${made[0].timestamp}`}>Take back …</button>`}</div>
    <ul class="plain">${made.map((each) => html`<li key=${each.event_id}><${ChangeLine} change=${{ ...each, timestamp: null }} /><${Fields} fields=${each.fields} /></li>`)}</ul>
  </section>`)}</div>`;
}

/** @param {{fields: any}} props */
function Fields({ fields }) {
  const known = Object.entries(fields ?? {}).filter(([, each]) => each.after?.value !== undefined || each.before?.value !== undefined);
  return known.slice(0, 12).map(([name, each]) => html`<div class="was" key=${name}><b>${words(name)}</b>: ${each.before && html`<${Was} value=${each.before.value} /> → `}<${Was} value=${each.after?.value} /></div>`);
}
