// One entity: its fields with their provenance, both clocks, relationships in words, and what can be done.
import { html, useState } from '../vendor/preact.js';
import { Dismiss } from './actions.js';
import { get, isOffered, post, withQuery } from './api.js';
import { Details, Dialog, Entity as Link, InBrowser, Json, Problem, SourceLink, Time, Type, Undo, Value, Waiting, Was, count, many, ordered, quietly, spelled, takeReport, useLoad, useTitle, view, words, writer } from './parts.js';
import { ToldTo } from './receipts.js';
import { Turns } from './talks.js';

/** @typedef {import('./parts.js').Place} Place */

const HISTORY = 200;
/** What is done on a view of its own, and the request that it ends in. */
const DEEDS = [['relate', 'Relate', 'POST /create_relationship'], ['merge', 'Merge', 'POST /entities/merge'], ['split', 'Split', 'POST /entities/split']];

/** @param {{place: Place, id: string}} props */
export function EntityView({ place, id }) {
  const { at, at_ingested: ingested } = place.query;
  const clocks = { ...(at && { at }), ...(ingested && { at_ingested: ingested }) };
  /** @type {import('./api.js').Body<'/get_entity_snapshot'>} */
  const asked = { entity_id: id, include_deleted: true, provenance: 'full', ...clocks };
  const around = withQuery(`/entities/${encodeURIComponent(id)}/relationships`, { expand_entities: true, fields: 'name', limit: 100, include_total_count: true, ...clocks });
  const past = withQuery('/observations', { entity_id: id, include_deleted: true, limit: HISTORY, max_characters: 1_000_000 });
  const loaded = useLoad(JSON.stringify(asked), async (signal) => {
    const entity = await post('/get_entity_snapshot', asked, signal);
    const hasMore = entity.state === 'live';
    const [history, relationships, current] = await Promise.all([
      quietly(past, signal), hasMore ? quietly(around, signal) : null, hasMore ? quietly(withQuery(around, { current: true }), signal) : null,
    ]);
    return { entity, history: history.observations ? history : { observations: [] }, relationships, current };
  });
  const [deed, set] = useState(/** @type {any} */ (takeReport));
  const done = (/** @type {import('./parts.js').Done} */ what) => {
    set(what);
    loaded.reload();
  };
  useTitle(loaded.data?.entity.canonical_name ?? 'An entity');
  if (!loaded.data) return html`<h1>An entity</h1><${Waiting} loaded=${loaded} />`;
  const { entity, history, relationships, current } = loaded.data;
  const isPast = Boolean(at || ingested);
  return html`<${Head} entity=${entity} isPast=${isPast} act=${set} />
    ${deed?.said && html`<${Report} deed=${deed} set=${set} done=${done} />`}
    <p><a href=${view(`/graph/${encodeURIComponent(entity.entity_id)}`, clocks)}>Its graph</a> · <a href=${view('/timeline', { entity: entity.entity_id })}>Its dates</a> · <a href=${view('/changes', { entity: entity.entity_id })}>Its changes</a><${InBrowser} id=${entity.entity_id} /></p>
    ${entity.entity_type === 'conversation' && !isPast && html`<${Turns} key=${entity.version} id=${entity.entity_id} />`}
    <${Clocks} place=${place} history=${history} />
    ${loaded.error && html`<${Problem} error=${loaded.error} />`}
    <div class=${loaded.busy ? 'stale' : ''}>
      <section aria-labelledby="fields"><h2 id="fields">What is known</h2><${Fields} entity=${entity} history=${history} isPast=${isPast} act=${set} /></section>
      <section aria-labelledby="around"><h2 id="around">Relationships</h2><${Around} entity=${entity} answer=${relationships} current=${current} clocks=${clocks} /></section>
    </div>
    ${!isPast && entity.state === 'live' && html`<${Duplicates} entity=${entity} done=${done} after=${deed?.pairs} />`}
    ${!isPast && isOffered('GET /receipts') && html`<${ToldTo} key=${entity.entity_id} of=${entity.entity_id} />`}
    <${Deeds} deed=${deed} set=${set} entity=${entity} done=${done} count=${relationships?.total} />
    <${Json} answers=${{ [`POST /get_entity_snapshot ${JSON.stringify(asked)}`]: entity, [`GET ${around}`]: relationships, [`GET ${past}`]: history }} />`;
}

/** What was done, and how it is taken back. @param {any} props */
function Report({ deed, set, done }) {
  const undo = () => (deed.undo ? deed.undo().then(() => done({ said: 'It was taken back.', pairs: deed.pairs && 'proposed' }), (/** @type {any} */ error) => set({ ...deed, error })) : set({ ...deed, undone: deed.transaction }));
  return html`<p class="done" role="status">${deed.said} ${deed.other && html`<a href=${view(`/entity/${encodeURIComponent(deed.other)}`)}>Look at the other one</a>`}
    ${(deed.undo || deed.transaction && isOffered('POST /undo')) && html`<button class="quiet" onClick=${undo}>Undo …</button>`}</p>
    ${deed.error && html`<${Problem} error=${deed.error} />`}`;
}

/** Entities that are likely the same. They cost the service more than the rest, so the view does not wait. @param {any} props */
function Duplicates({ entity, done, after }) {
  const path = withQuery('/entities/duplicates', { entity_id: entity.entity_id, limit: 5 });
  const pairs = useLoad(`${path} ${entity.version} ${after}`, (signal) => get(path, signal));
  if (!pairs.data?.candidates.length) return null;
  return html`<section aria-labelledby="alike"><h2 id="alike">Likely duplicates</h2><ul class="plain">${pairs.data.candidates.map((/** @type {any} */ each) => {
    const [id, name] = each.entity_a === entity.entity_id ? [each.entity_b, each.canonical_name_b] : [each.entity_a, each.canonical_name_a];
    const pair = { entity_a: each.entity_a, entity_b: each.entity_b };
    const dismiss = () => post('/entities/duplicates/dismiss', pair).then(() => done({ said: 'They are two, and are proposed no more.', pairs: 'dismissed', undo: () => post('/entities/duplicates/dismiss', { ...pair, undo: true }) }));
    return html`<li key=${id}><${Link} id=${id} name=${name} type=${each.entity_type} /> <span class="soft">${Math.round(each.score * 100)} % alike, by ${each.matched_fields.map(words).join(', ')}</span>
      ${isOffered('POST /entities/merge') && html`<a href=${view(`/entity/${encodeURIComponent(entity.entity_id)}/merge`, { with: id })}>Compare and merge …</a> `}<${Dismiss} dismiss=${dismiss} /></li>`;
  })}</ul></section>`;
}

/** @param {any} props */
function Head({ entity, isPast, act }) {
  const isDeleted = entity.state === 'deleted';
  return html`<div class="head"><h1><bdi>${spelled((entity.canonical_name || 'An entity without a name').slice(0, 500))}</bdi></h1> <a href=${view('/entities', { type: entity.entity_type })}><${Type} type=${entity.entity_type} /></a>
      ${entity.state !== 'live' && html`<span class="badge warn">${entity.state}</span>`}
      ${!isPast && !isDeleted && html`<span class="end deeds">${DEEDS.filter(([, , request]) => isOffered(request)).map(([name, verb]) => html`<a key=${name} href=${view(`/entity/${encodeURIComponent(entity.entity_id)}/${name}`)}>${verb} …</a> `)}</span>`}
      ${!isPast && html`<button class=${isDeleted ? 'quiet end' : 'quiet'} onClick=${() => act({ lifecycle: isDeleted ? 'restore' : 'delete' })}>${isDeleted ? 'Restore …' : 'Delete …'}</button>`}</div>
    <p class="soft">${many(entity.observation_count, 'observation')}, first recorded <${Time} at=${entity.created_at} />, last observed <${Time} at=${entity.last_observation_at} /> · <code>${entity.entity_id}</code></p>`;
}

/** The two clocks: what was so at a time, and what was known by a time. @param {{place: Place, history: any}} props */
function Clocks({ place, history }) {
  const { at, at_ingested: ingested } = place.query;
  const isPast = Boolean(at || ingested);
  const observations = history?.observations ?? [];
  return html`<details class="clocks" open=${isPast}><summary>${isPast ? html`<b>As of the past</b>: the view shows an earlier state` : 'Look at an earlier state'}</summary>
    <${Clock} name="at" label="As it was" place=${place} times=${observations.map((/** @type {any} */ each) => each.observed_at)} />
    <${Clock} name="at_ingested" label="As it was known" place=${place} times=${observations.map((/** @type {any} */ each) => each.recorded_at)} />
    ${isPast && html`<p><a href=${view(place.path)}>Back to now</a></p>`}
  </details>`;
}

/** A slider over the times at which something became so, whose last step is now; and a day, whose end is meant. @param {{name: string, label: string, place: Place, times: string[]}} props */
function Clock({ name, label, place, times }) {
  const chosen = place.query[name];
  const steps = [...new Set([...times, ...(chosen ? [chosen] : [])])].sort();
  const index = chosen ? steps.indexOf(chosen) : steps.length;
  const [moved, move] = useState(/** @type {number | null} */ (null));
  const shown = moved ?? index;
  const said = shown >= steps.length ? 'now' : steps[shown];
  const go = (/** @type {any} */ event) => {
    const step = Number(event.target.value);
    move(null);
    location.replace(view(place.path, { ...place.query, [name]: step >= steps.length ? null : steps[step] }));
  };
  const choose = (/** @type {any} */ event) => location.replace(view(place.path, { ...place.query, [name]: event.target.value && `${event.target.value}T23:59:59.999999Z` }));
  return html`<div class="clock"><label for=${`clock-${name}`}>${label}</label>
    <input id=${`clock-${name}`} type="range" min="0" max=${steps.length} value=${shown} disabled=${steps.length === 0} aria-valuetext=${said}
      onInput=${(/** @type {any} */ event) => move(Number(event.target.value))} onChange=${go} />
    <output for=${`clock-${name}`}>${said === 'now' ? 'now' : html`<${Time} at=${said} />`}</output>
    <input type="date" aria-label=${`${label}, at the end of a day`} value=${chosen?.slice(0, 10) ?? ''} onChange=${choose} /></div>`;
}

/** @param {any} props */
function Fields({ entity, history, isPast, act }) {
  const names = ordered(Object.keys(entity.snapshot));
  if (!names.length) return html`<p class="empty">No value is known${isPast ? ' as of then. Move the clocks to a later time' : ''}.</p>`;
  const set = Object.fromEntries(Object.values(entity.provenance_observations ?? {}).map((/** @type {any} */ each) => [each.id, each]));
  return html`<div class="fields">${names.map((name) => html`<${Field} key=${name} name=${name} entity=${entity} observations=${[entity.provenance[name]].flat().map((id) => set[id]).filter(Boolean)} history=${history} isPast=${isPast} act=${act} />`)}</div>`;
}

/** @param {any} props */
function Field({ name, entity, observations, history, isPast, act }) {
  const [isOpen, open] = useState(false);
  const winner = observations[0];
  const value = entity.snapshot[name];
  const others = isPast || !winner ? [] : history.observations.filter((/** @type {any} */ each) => contests(each, winner, name, value));
  const isCorrected = winner?.kind === 'correction';
  return html`<div class="field"><h3><bdi>${words(name)}</bdi></h3>
    <div class="what"><${Value} value=${value} />
      ${isCorrected && html` <span class="badge">corrected</span>`}${others.length > 0 && html` <span class="badge warn">contested</span>`}
      ${others.map((/** @type {any} */ each) => html`<div class="was" key=${each.id}>also said: <${Was} value=${each.fields[name]} /> <span class="soft">by <bdi>${writer(each.provenance)}</bdi>, <${Time} at=${each.observed_at} />, <${SourceLink} observation=${each} field=${name} /></span></div>`)}</div>
    <p class="from soft">${winner ? html`since <${Time} at=${winner.observed_at} />, by <bdi>${writer(winner.provenance)}</bdi>, <${SourceLink} observation=${winner} field=${name} />${observations.length > 1 ? `, and ${observations.length - 1} more` : ''}` : ''}</p>
    <p class="acts"><button class="quiet" aria-expanded=${isOpen} aria-label=${`History of ${words(name)}`} onClick=${() => open(!isOpen)}>History</button>
      ${!isPast && entity.state === 'live' && html`<button class="quiet" aria-label=${`Correct ${words(name)}`} onClick=${() => act({ correct: name })}>Correct …</button>`}</p>
    ${isOpen && html`<${History} id=${entity.entity_id} name=${name} winners=${observations} act=${act} />`}</div>`;
}

/**
 * Whether an observation says another value although it is not older than the winner.
 * @param {any} each @param {any} winner @param {string} name @param {any} value
 */
function contests(each, winner, name, value) {
  const said = each.fields?.[name];
  const isOther = said !== undefined && said !== null && !Array.isArray(value) && JSON.stringify(said) !== JSON.stringify(value);
  return isOther && each.id !== winner.id && (each.observed_at >= winner.observed_at || winner.kind === 'correction' && each.recorded_at > winner.recorded_at);
}

/** @param {any} props */
function History({ id, name, winners, act }) {
  const path = withQuery('/observations', { entity_id: id, field: name, include_deleted: true, limit: 100, max_characters: 500_000 });
  const list = useLoad(path + winners.map((/** @type {any} */ each) => each.id), (signal) => get(path, signal));
  if (!list.data) return html`<div class="history"><${Waiting} loaded=${list} /></div>`;
  const counts = new Set(winners.map((/** @type {any} */ each) => each.id));
  return html`<${Line} observations=${list.data.observations} name=${name} /><ol class="history" aria-label=${`History of ${words(name)}`}>${list.data.observations.map((/** @type {any} */ each) => html`<li key=${each.id} class=${counts.has(each.id) ? 'wins' : ''}>
      <${Value} value=${each.fields[name]} /> ${each.kind !== 'value' && html`<span class="badge">${words(each.kind)}</span>`}
      <span class="soft">${counts.has(each.id) ? 'counts now; ' : ''}observed <${Time} at=${each.observed_at} />, recorded <${Time} at=${each.recorded_at} />, by <bdi>${writer(each.provenance)}</bdi>, <${SourceLink} observation=${each} field=${name} /></span>
      ${isOffered('POST /undo') && html`<button class="quiet" aria-label=${`Take back what was recorded at ${each.recorded_at}`} onClick=${() => act({ undone: each.transaction_id })}>Take back …</button>`}</li>`)}</ol>
    ${list.data.next_cursor && html`<p class="soft">Only the newest ${list.data.observations.length} are shown.</p>`}`;
}

/** The numbers of a field over time, where people would rather look than read. @param {{observations: any[], name: string}} props */
function Line({ observations, name }) {
  const points = observations.map((each) => [Date.parse(each.observed_at), each.fields[name]]).filter(([at, value]) => !Number.isNaN(at) && typeof value === 'number').sort(([a], [b]) => a - b);
  if (points.length < 3) return null;
  const [times, values] = [0, 1].map((index) => points.map((each) => each[index]));
  const [start, end, least, most] = [times[0], times[times.length - 1], Math.min(...values), Math.max(...values)];
  const place = (/** @type {number[]} */ [at, value]) => [4 + 592 * ((at - start) / (end - start || 1)), 96 - 92 * ((value - least) / (most - least || 1))];
  const said = `${words(name)} from ${values[0]} to ${values[values.length - 1]}, at least ${least}, at most ${most}, ${points.length} values`;
  return html`<figure class="line"><svg viewBox="0 0 600 100" role="img" aria-label=${said}><polyline points=${points.map((each) => place(each).join(',')).join(' ')} />${points.slice(-200).map((each, index) => html`<circle key=${index} cx=${place(each)[0]} cy=${place(each)[1]} r="3" />`)}</svg>
    <figcaption class="soft"><${Time} at=${new Date(start).toISOString()} day=${true} /> to <${Time} at=${new Date(end).toISOString()} day=${true} />, ${count(least)} to ${count(most)}</figcaption></figure>`;
}

/** @param {any} props */
function Around({ entity, answer, current: now, clocks }) {
  if (entity.state !== 'live') return html`<p class="soft">They are not shown, because the entity is ${entity.state}.</p>`;
  if (answer.error) return html`<${Problem} error=${answer.error} />`;
  if (!answer.relationships.length) return html`<p class="soft">Nothing is related to it.</p>`;
  const names = new Map([...answer.related_entities, ...(now.related_entities ?? [])].map((/** @type {any} */ each) => [each.entity_id, each]));
  const current = now.relationships ?? answer.relationships;
  const lasting = new Set(current.map((/** @type {any} */ each) => each.relationship_id));
  const ended = answer.relationships.filter((/** @type {any} */ each) => !lasting.has(each.relationship_id));
  const line = (/** @type {any} */ each) => html`<li key=${each.relationship_id}><${Sentence} entity=${entity} each=${each} names=${names} clocks=${clocks} /></li>`;
  return html`<ul class="plain around">${current.map(line)}</ul>
    ${ended.length > 0 && html`<h3>Ended</h3><ul class="plain around ended">${ended.map(line)}</ul>`}
    ${answer.next_cursor && html`<p class="soft">The newest ${count(answer.relationships.length)} of ${count(answer.total)} relationships.</p>`}`;
}

/** @param {any} props */
function Sentence({ entity, each, names, clocks }) {
  const end = (/** @type {string} */ id) => {
    const other = names.get(id);
    return id === entity.entity_id ? html`<bdi>${spelled((entity.canonical_name || id).slice(0, 200))}</bdi>` : html`<${Link} id=${id} name=${other?.canonical_name} type=${other?.entity_type} query=${clocks} />`;
  };
  return html`${end(each.source_entity_id)} <b>${words(each.relationship_type)}</b> ${end(each.target_entity_id)}
    <${Details} snapshot=${each.snapshot} />
    ${' '}<span class="soft">known since <${Time} at=${each.created_at} day=${true} /></span>`;
}

/** The dialog of what is being done. @param {any} props */
function Deeds({ deed, set, entity, done, count: around }) {
  const close = () => set(deed.said ? { ...deed, undone: null } : null);
  if (deed?.correct) return html`<${Correct} entity=${entity} name=${deed.correct} close=${close} done=${done} />`;
  if (deed?.lifecycle) return html`<${Lifecycle} entity=${entity} act=${deed.lifecycle} around=${around} close=${close} done=${done} />`;
  if (deed?.undone) return html`<${Undo} transaction=${deed.undone} close=${close} done=${() => done({ said: 'It was taken back.' })} />`;
  return null;
}

/** @param {any} props */
function Correct({ entity, name, close, done }) {
  const old = entity.snapshot[name];
  const isText = typeof old === 'string';
  const [text, write] = useState(isText ? old : JSON.stringify(old));
  const [state, set] = useState(/** @type {any} */ ({}));
  const body = { entity_id: entity.entity_id, field: name, expected_version: entity.version };
  const send = async (/** @type {any} */ value, /** @type {boolean} */ isPreview) => {
    set({ ...state, busy: true });
    try {
      const answer = await post('/correct', { ...body, value, dry_run: isPreview });
      if (isPreview) set({ value, answer });
      else done({ said: `${words(name)} was corrected.`, transaction: answer.transaction_id });
    } catch (error) {
      set({ error });
    }
  };
  const preview = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      send(isText ? text : JSON.parse(text), true);
    } catch {
      set({ error: new Error('this value is no JSON: a text stands in double quotes, a list in [ ]') });
    }
  };
  const isSame = JSON.stringify(state.value) === JSON.stringify(old);
  return html`<${Dialog} title=${`Correct ${words(name)}`} close=${close}>
    <form onSubmit=${preview}><label for="right">The right value${isText ? '' : ', as JSON'}</label>
      <textarea id="right" dir="auto" rows="4" value=${text} onInput=${(/** @type {any} */ event) => { write(event.target.value); set({}); }}></textarea>
      ${state.value === undefined && html`<div class="buttons"><button class="strong" disabled=${state.busy}>Preview</button><button type="button" onClick=${close}>Cancel</button></div>`}</form>
    ${state.error && html`<${Problem} error=${state.error} />`}
    ${state.value !== undefined && html`<div class="preview" role="status">${Object.keys({ ...entity.snapshot, ...state.answer.snapshot }).filter((each) => each === name || JSON.stringify(entity.snapshot[each]) !== JSON.stringify(state.answer.snapshot[each])).map((each) => html`<p key=${each}>${each !== name && `${words(each)}: `}<${Was} value=${entity.snapshot[each]} /> → <${Was} value=${state.answer.snapshot[each]} /></p>`)}
      ${state.answer.store_warnings.map((/** @type {any} */ each) => html`<p class="warning" key=${each.message}>${each.message}</p>`)}
      <p>${isSame ? 'The value stays the same, and from now on nothing but another correction changes it.' : 'The right value wins over everything else that was said or will be said of this field. What was said stays in the history.'}</p></div>
      <div class="buttons"><button class="strong" disabled=${state.busy} onClick=${() => send(state.value, false)}>Correct</button><button onClick=${close}>Cancel</button></div>`}
  </${Dialog}>`;
}

/** @param {any} props */
function Lifecycle({ entity, act, around, close, done }) {
  const [state, set] = useState(/** @type {any} */ ({}));
  const isDelete = act === 'delete';
  const go = () => {
    set({ busy: true });
    post(isDelete ? '/delete_entity' : '/restore_entity', { entity_id: entity.entity_id, ...(isDelete && { expected_version: entity.version }) })
      .then(() => done({ said: isDelete ? 'It was deleted. Restore brings it back.' : 'It was restored.' }), (error) => set({ error }));
  };
  return html`<${Dialog} title=${isDelete ? 'Delete this entity?' : 'Restore this entity?'} close=${close}>
    <p><bdi><b>${spelled((entity.canonical_name || entity.entity_id).slice(0, 200))}</b></bdi> ${isDelete ? `and its ${many(around ?? 0, 'relationship')} leave every answer. The history stays, and it can be restored.` : 'comes back with all that was stored of it, before and since.'}</p>
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${state.busy} onClick=${go}>${isDelete ? 'Delete' : 'Restore'}</button><button onClick=${close}>Cancel</button></div>
  </${Dialog}>`;
}
