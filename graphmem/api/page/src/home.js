// The first view: one field for searches and questions, and what there is to look at.
import { html, useRef } from '../vendor/preact.js';
import { get, isOffered, post } from './api.js';
import { Drop } from './files.js';
import { ChangeLine, useChanges } from './lists.js';
import { Entity, Json, Problem, SourceLink, Time, Type, Value, Waiting, Was, count, quietly, useLoad, useTitle, view, words } from './parts.js';

/** @param {{text: string}} props */
function SearchField({ text }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const go = (/** @type {Event} */ event) => {
    event.preventDefault();
    const words = field.current?.value.trim();
    if (words) location.hash = view('/search', { q: words });
  };
  return html`<form class="search" role="search" onSubmit=${go}>
    <label for="q">Search, or ask a question</label>
    <div><input id="q" ref=${field} key=${text} type="search" dir="auto" defaultValue=${text} maxlength="2000" autocomplete="off" placeholder="a name, an e-mail address, open tasks, who manages …" />
    <button class="strong">Find</button></div>
  </form>`;
}

export function Home() {
  useTitle('Home');
  const today = new Date().toISOString().slice(0, 10);
  const due = `/timeline?from=${today}&order=asc&limit=8`;
  const main = useLoad('main', async (signal) => {
    const [stats, changes, dates, corrected] = await Promise.all([
      get('/stats', signal), get('/changes?limit=8', signal), quietly(due, signal),
      quietly('/changes?event_type=entity.corrected&limit=5', signal),
    ]);
    return { stats, changes, dates, corrected };
  });
  // These cost the service more than the rest: the view does not wait for them.
  const pairs = useLoad('pairs', (signal) => get('/entities/duplicates?limit=5', signal));
  const contested = useLoad('contested', (signal) => get('/entities/contested?limit=6', signal));
  const live = useChanges({ after: main.data?.changes.resume_cursor ?? null });
  return html`<h1>What is known</h1><${SearchField} text="" />
    ${main.data ? html`<${Overview} ...${main.data} pairs=${pairs} contested=${contested} live=${live} />` : html`<${Waiting} loaded=${main} />`}
    <${Drop} stored=${main.reload} />
    ${main.data && html`<${Json} answers=${{ 'GET /stats': main.data.stats, 'GET /changes?limit=8': main.data.changes, [`GET ${due}`]: main.data.dates, 'GET /entities/contested?limit=6': contested.data, 'GET /entities/duplicates?limit=5': pairs.data }} />`}`;
}

/** @param {any} props */
function Overview({ stats, changes, dates, corrected, pairs, contested, live }) {
  const types = Object.entries(stats.entities_by_type).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  if (!stats.total_entities && !stats.sources_count) {
    return html`<p class="empty">Nothing is stored yet. Drop a file onto this page, store something with <code>graphmem store</code>, <code>graphmem upload FILE</code>, or let an agent use the tool <code>store</code>. This page shows it at once.</p>`;
  }
  return html`<div class="panels flow">
    <section class="panel"><h2>Types</h2>
      <p class="soft">${count(stats.total_entities)} entities, ${count(stats.total_relationships)} relationships, ${count(stats.total_observations)} observations</p>
      <ul class="types">${types.map(([type, number]) => html`<li key=${type}><a href=${view('/entities', { type })}><${Type} type=${type} /> <b>${count(number)}</b></a></li>`)}</ul>
    </section>
    <section class="panel"><h2>Changed lately</h2>
      <ul class="plain" aria-live="polite">${[...live, ...changes.changes].slice(0, 8).map((each) => html`<li key=${each.event_id}><${ChangeLine} change=${each} /></li>`)}</ul>
      <p><a href="#/changes">All changes</a></p>
    </section>
    <section class="panel"><h2>Due and coming up</h2><${Dates} answer=${dates} /><p><a href="#/timeline">The whole timeline</a></p></section>
    <section class="panel"><h2>Contested</h2><${Contested} answer=${contested} /></section>
    <section class="panel"><h2>Corrected</h2>
      ${corrected.error ? html`<${Problem} error=${corrected.error} />` : corrected.changes.length
        ? html`<ul class="plain">${corrected.changes.map((/** @type {any} */ each) => html`<li key=${each.event_id}><${ChangeLine} change=${each} /></li>`)}</ul>`
        : html`<p class="soft">No value was corrected. The view of an entity can correct one.</p>`}
    </section>
    <section class="panel"><h2>Likely duplicates</h2><${Pairs} pairs=${pairs} /></section>
  </div>`;
}

/** @param {{answer: import('./api.js').Answer<'/timeline'> & {error?: any}}} props */
function Dates({ answer }) {
  if (answer.error) return html`<${Problem} error=${answer.error} />`;
  if (!answer.events.length) return html`<p class="soft">Nothing that is known has a date from today on.</p>`;
  return html`<ul class="plain">${answer.events.map((each) => html`<li key=${each.id}><${Time} at=${each.event_timestamp} /> <${Entity} id=${each.entity_id} name=${each.entity_name} /> <span class="soft">${words(each.source_field)}</span></li>`)}</ul>`;
}

/** @param {{answer: any}} props */
function Contested({ answer }) {
  if (!answer.data) return html`<${Waiting} loaded=${answer} />`;
  const { entities, scanned, truncated } = answer.data;
  const last = truncated && html`<p class="soft">Of the ${count(scanned)} entities that were observed last.</p>`;
  if (!entities.length) return html`<p class="soft">Nobody contradicts a value.</p>${last}`;
  return html`<ul class="plain">${entities.map((/** @type {any} */ each) => html`<li key=${each.entity_id}><${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} />
    ${each.fields.slice(0, 3).map((/** @type {any} */ field) => html`<div class="was" key=${field.field}><b>${words(field.field)}</b>: <${Was} value=${field.value} />, also <${Was} value=${field.contested[0].value} /></div>`)}</li>`)}</ul>${last}`;
}

/** @param {{pairs: {data: import('./api.js').Answer<'/entities/duplicates'> | null, error: any}}} props */
function Pairs({ pairs }) {
  if (!pairs.data) return html`<${Waiting} loaded=${pairs} />`;
  if (!pairs.data.candidates.length) return html`<p class="soft">No two entities look alike.</p>`;
  return html`<ul class="plain">${pairs.data.candidates.map((each) => html`<li key=${each.entity_a + each.entity_b}><${Entity} id=${each.entity_a} name=${each.canonical_name_a} type=${each.entity_type} /> and <${Entity} id=${each.entity_b} name=${each.canonical_name_b} /> <span class="soft">${Math.round(each.score * 100)} % alike, by ${each.matched_fields.map(words).join(', ')}</span> ${isOffered('POST /entities/merge') && html`<a href=${view(`/entity/${encodeURIComponent(each.merge.arguments.target_entity_id)}/merge`, { with: each.merge.arguments.source_entity_id })}>Compare …</a>`}</li>`)}</ul>`;
}

/** @param {{place: import('./parts.js').Place}} props */
export function Search({ place }) {
  const text = place.query.q ?? '';
  useTitle(text || 'Find');
  const list = { search: text, limit: 25, include_snapshots: false, max_characters: 100_000, ...(place.query.cursor && { cursor: place.query.cursor }) };
  const found = useLoad(`${text} ${place.query.cursor ?? ''}`, (signal) => post('/entities/query', list, signal));
  /** @type {import('./api.js').Body<'/retrieve_context'>} */
  const question = { question: text, format: 'fields', budget: 2500 };
  const context = useLoad(text, (signal) => post('/retrieve_context', question, signal));
  return html`<h1>Find</h1><${SearchField} text=${text} />
    <div class="panels wide">
      <section class="panel"><h2>What is known about it</h2>${context.data && !context.busy ? html`<${Facts} answer=${context.data} />` : html`<${Waiting} loaded=${context} />`}</section>
      <section class="panel"><h2>Entities</h2>${found.data && !found.busy ? html`<${Found} answer=${found.data} place=${place} />` : html`<${Waiting} loaded=${found} />`}</section>
    </div>
    <${Json} answers=${{ [`POST /retrieve_context ${JSON.stringify(question)}`]: context.data, [`POST /entities/query ${JSON.stringify(list)}`]: found.data }} />`;
}

/** How the service read the words. @param {{understood: any}} props */
function Understood({ understood }) {
  if (!understood?.sentence) return null;
  return html`<p class="understood">Understood as: <bdi>${understood.sentence}</bdi></p>`;
}

/** @param {{answer: import('./api.js').Posted<'/retrieve_context'>}} props */
function Facts({ answer }) {
  const named = new Map((answer.entities ?? []).map((each) => [each.entity, each]));
  const lines = answer.lines.flatMap((line) => (typeof line === 'string' ? [] : [line]));
  if (!lines.length) return html`<${Understood} understood=${answer.understood} /><p>Nothing is known about it. Try a name, or fewer words.</p>`;
  return html`<${Understood} understood=${answer.understood} /><ul class="plain facts">${lines.map((line, index) => {
    const about = named.get(line.entity) ?? { entity_id: '', canonical_name: line.entity_name };
    const other = named.get(line.related_entity ?? -1);
    const self = html`<${Entity} id=${about.entity_id} name=${about.canonical_name} />`;
    const end = other ? html`<${Entity} id=${other.entity_id} name=${other.canonical_name} />` : html`<${Value} value=${line.value} />`;
    return html`<li key=${index}>${line.direction === 'incoming' ? html`${end} ${words(line.field)} ${self}` : html`${self} <b>${words(line.field)}</b> ${end}`}
      <span class="soft"> ${line.ended ? html`ended ${String(line.ended)}` : html`since <${Time} at=${line.since ?? line.observed_at} day=${true} />`}</span>
      ${line.contested && html`<span class="badge warn">contested</span>`}
      ${(line.earlier ?? []).map((/** @type {any} */ each) => html`<div class="was">before: <${Value} value=${each.value} /> <span class="soft">until <${Time} at=${each.until} day=${true} /></span></div>`)}</li>`;
  })}</ul>`;
}

/** @param {{answer: import('./api.js').Posted<'/entities/query'>, place: import('./parts.js').Place}} props */
function Found({ answer, place }) {
  const { cursor, ...rest } = place.query;
  return html`<${Understood} understood=${answer.understood} />${!answer.understood?.sentence && html`<p class="soft">Understood as words and names to look for.</p>`}
    ${answer.entities.length ? html`<ul class="plain">${answer.entities.map((each) => html`<li key=${each.entity_id}><${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} /> <span class="soft">${each.matched && `found by ${words(each.matched)}`}</span></li>`)}</ul>` : html`<p>No entity fits. Try a name, an identifier such as an e-mail address, or a kind such as “open tasks”.</p>`}
    ${(answer.passages ?? []).length > 0 && html`<h3>In files</h3><ul class="plain">${(answer.passages ?? []).map((each, index) => html`<li key=${index}><q dir="auto">${each.quote.slice(0, 400)}</q> <${SourceLink} observation=${{ source_id: each.source_id, span: each }} /></li>`)}</ul>`}
    ${answer.next_cursor && html`<p><a href=${view('/search', { ...rest, cursor: answer.next_cursor })}>Next page</a></p>`}`;
}
