// The first view: one field for searches and questions, and what there is to look at.
import { html, useRef, useState } from '../vendor/preact.js';
import { get, isOffered, post } from './api.js';
import { Drop } from './files.js';
import { ChangeLine, grouped, useChanges } from './lists.js';
import { Entity, Hit, Json, Match, SourceLink, Time, Type, Value, Waiting, Was, count, many, useLoad, useTitle, view, words } from './parts.js';

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

/** What is said in conversations has a time, and is not due. */
const SAID = new Set(['message', 'conversation']);

/** A part of the view, loaded by itself: it is shown as soon as it is read. @param {string} path */
const usePart = (path) => useLoad(path, (signal) => get(/** @type {any} */ (path), signal));

export function Home() {
  useTitle('Home');
  const [now] = useState(new Date().toISOString());
  const stats = usePart('/stats');
  const changes = usePart('/changes?limit=100');
  const coming = usePart(`/timeline?from=${now}&order=asc&limit=20`);
  const today = usePart(`/timeline?from=${now.slice(0, 10)}&to=${now}&order=asc&limit=100`);
  const corrected = usePart('/changes?event_type=entity.corrected&limit=5');
  const pairs = usePart('/entities/duplicates?limit=5');
  const contested = usePart('/entities/contested?limit=6');
  const live = useChanges({ after: changes.data?.resume_cursor ?? null });
  const isEmpty = stats.data && !stats.data.total_entities && !stats.data.sources_count;
  const parts = { '/stats': stats, '/changes?limit=100': changes, '/timeline': coming, '/entities/contested?limit=6': contested, '/entities/duplicates?limit=5': pairs };
  const newest = changes.data && grouped([...live, ...changes.data.changes]).slice(0, 8);
  return html`<h1>What is known</h1><${SearchField} text="" />
    ${isEmpty ? html`<p class="empty">Nothing is stored yet. Drop a file onto this page, store something with <code>graphmem store</code>, <code>graphmem upload FILE</code>, or let an agent use the tool <code>store</code>. This page shows it at once.</p>`
      : html`<div class="panels parts">
        <${Part} title="Types" part=${stats} show=${types} />
        <${Part} title="Changed lately" more=${['#/changes', 'All changes']} part=${changes} show=${() => html`<ul class="plain" aria-live="polite">${newest?.map((/** @type {any} */ { change, more, said }) => html`<li key=${change.event_id ?? change.entity_id}>${said ? html`<span class="when"><${Time} at=${change.timestamp} /></span> <${Entity} id=${change.entity_id} name=${change.name} type="conversation" /> <span class="soft">${many(said, 'message')}</span>`
          : html`<${ChangeLine} change=${change} />${more > 0 && html` <span class="soft">and ${many(more, 'change')} with it</span>`}`}</li>`)}</ul>`} />
        <${Part} title="Due and coming up" more=${['#/timeline', 'The whole timeline']} part=${today.data ? coming : today} show=${(/** @type {any} */ later) => html`<${Dates} events=${[...(today.data?.events ?? []), ...later.events]} />`} />
        <${Part} title="Contested" part=${contested} show=${(/** @type {any} */ answer) => html`<${Contested} answer=${answer} />`} />
        <${Part} title="Corrected" part=${corrected} show=${(/** @type {any} */ answer) => (answer.changes.length ? html`<ul class="plain">${answer.changes.map((/** @type {any} */ each) => html`<li key=${each.event_id}><${ChangeLine} change=${each} /></li>`)}</ul>` : html`<p class="soft">No value was corrected. The view of an entity can correct one.</p>`)} />
        <${Part} title="Likely duplicates" part=${pairs} show=${(/** @type {any} */ answer) => html`<${Pairs} answer=${answer} />`} />
      </div>`}
    <${Drop} stored=${() => { stats.reload(); changes.reload(); }} />
    <${Json} answers=${Object.fromEntries(Object.entries(parts).map(([path, part]) => [`GET ${path}`, part.data]))} />`;
}

/** A part of the view, of one size whether it is read or not: nothing moves when it is. @param {any} props */
function Part({ title, more, part, show }) {
  return html`<section class="panel" tabindex="0" aria-label=${title}><div class="head"><h2>${title}</h2>${more && html`<a class="end" href=${more[0]}>${more[1]}</a>`}</div>
    ${part.data ? show(part.data) : html`<${Waiting} loaded=${part} />`}</section>`;
}

/** @param {any} stats */
function types(stats) {
  const known = Object.entries(stats.entities_by_type).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return html`<p class="soft">${count(stats.total_entities)} entities, ${count(stats.total_relationships)} relationships, ${count(stats.total_observations)} observations</p>
    <ul class="types">${known.map(([type, number]) => html`<li key=${type}><a href=${view('/entities', { type })}><${Type} type=${type} /> <b>${count(number)}</b></a></li>`)}</ul>`;
}

/** @param {{events: any[]}} props */
function Dates({ events }) {
  const due = events.filter((each) => !SAID.has(each.entity_type)).slice(0, 8);
  if (!due.length) return html`<p class="soft">Nothing that is known has a date from today on.</p>`;
  return html`<ul class="plain">${due.map((each) => html`<li key=${each.id}><${Time} at=${each.event_timestamp} /> <${Entity} id=${each.entity_id} name=${each.entity_name} /> <span class="soft">${words(each.source_field)}</span></li>`)}</ul>`;
}

/** @param {{answer: any}} props */
function Contested({ answer }) {
  const { entities, scanned, truncated } = answer;
  const last = truncated && html`<p class="soft">Of the ${count(scanned)} entities that were observed last.</p>`;
  if (!entities.length) return html`<p class="soft">Nobody contradicts a value.</p>${last}`;
  return html`<ul class="plain">${entities.map((/** @type {any} */ each) => html`<li key=${each.entity_id}><${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} />
    ${each.fields.slice(0, 3).map((/** @type {any} */ field) => html`<div class="was" key=${field.field}><b>${words(field.field)}</b>: <${Was} value=${field.value} />, also <${Was} value=${field.contested[0].value} /></div>`)}</li>`)}</ul>${last}`;
}

/** @param {{answer: import('./api.js').Answer<'/entities/duplicates'>}} props */
function Pairs({ answer }) {
  if (!answer.candidates.length) return html`<p class="soft">No two entities look alike.</p>`;
  return html`<ul class="plain">${answer.candidates.map((each) => html`<li key=${each.entity_a + each.entity_b}><${Entity} id=${each.entity_a} name=${each.canonical_name_a} type=${each.entity_type} /> and <${Entity} id=${each.entity_b} name=${each.canonical_name_b} /> <span class="soft">${Math.round(each.score * 100)} % alike, by ${each.matched_fields.map(words).join(', ')}</span> ${isOffered('POST /entities/merge') && html`<a href=${view(`/entity/${encodeURIComponent(each.merge.arguments.target_entity_id)}/merge`, { with: each.merge.arguments.source_entity_id })}>Compare …</a>`}</li>`)}</ul>`;
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
    ${context.data && found.data && html`<${Json} answers=${{ [`POST /retrieve_context ${JSON.stringify(question)}`]: context.data, [`POST /entities/query ${JSON.stringify(list)}`]: found.data }} />`}`;
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
  const head = html`<${Understood} understood=${answer.understood} /><${Match} answer=${answer} />`;
  if (!lines.length) return html`${head}<p>Nothing is known about it. Try a name, or fewer words.</p>`;
  return html`${head}<ul class="plain facts">${lines.map((line, index) => {
    /** @type {{entity_id: string, canonical_name: string, formerly?: string}} */
    const about = named.get(line.entity) ?? { entity_id: '', canonical_name: line.entity_name };
    const other = named.get(line.related_entity ?? -1);
    const self = html`<${Entity} id=${about.entity_id} name=${about.canonical_name} />${about.formerly && html` <span class="soft">formerly <bdi>${about.formerly}</bdi></span>`}`;
    const end = other ? html`<${Entity} id=${other.entity_id} name=${other.canonical_name} />` : html`<${Value} value=${line.value} />`;
    return html`<li key=${index}>${line.direction === 'incoming' ? html`${end} ${words(line.field)} ${self}` : html`${self} <b>${words(line.field)}</b> ${end}`}
      <span class="soft"> ${line.ended ? html`formerly, ended ${String(line.ended)}` : html`since <${Time} at=${line.since ?? line.observed_at} day=${true} />`}</span>
      ${line.match && html`<span class="badge">${words(line.match)}</span>`}${line.contested && html`<span class="badge warn">contested</span>`}
      ${(line.earlier ?? []).map((/** @type {any} */ each) => html`<div class="was">before: <${Value} value=${each.value} /> <span class="soft">until <${Time} at=${each.until} day=${true} /></span></div>`)}</li>`;
  })}</ul>`;
}

/** @param {{answer: import('./api.js').Posted<'/entities/query'>, place: import('./parts.js').Place}} props */
function Found({ answer, place }) {
  const { cursor, ...rest } = place.query;
  return html`<${Understood} understood=${answer.understood} />${!answer.understood?.sentence && html`<p class="soft">Understood as words and names to look for.</p>`}<${Match} answer=${answer} />
    ${answer.entities.length ? html`<ul class="plain">${answer.entities.map((each) => html`<li key=${each.entity_id}><${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} /><${Hit} hit=${each} /></li>`)}</ul>` : html`<p>No entity fits. Try a name, an identifier such as an e-mail address, or a kind such as “open tasks”.</p>`}
    ${(answer.passages ?? []).length > 0 && html`<h3>In files</h3><ul class="plain">${(answer.passages ?? []).map((each, index) => html`<li key=${index}><q dir="auto">${each.quote.slice(0, 400)}</q> <${SourceLink} observation=${{ source_id: each.source_id, span: each }} /></li>`)}</ul>`}
    ${answer.next_cursor && html`<p><a href=${view('/search', { ...rest, cursor: answer.next_cursor })}>Next page</a></p>`}`;
}
