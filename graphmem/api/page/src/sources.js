// Files: the list, and one file with its text and what was read from each place.
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { get, isOffered, withQuery } from './api.js';
import { Drop, Interpret, Withdraw } from './files.js';
import { Entity, Json, Pager, Time, Waiting, count, many, quietly, useLoad, useTitle, view, words, writer } from './parts.js';
import { ToldTo } from './receipts.js';

/** @typedef {import('./parts.js').Place} Place */

const TEXT = 20_000;
const BEFORE = 1_000;

/** @param {number} bytes */
const size = (bytes) => (bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** @param {{place: Place}} props */
export function Sources({ place }) {
  useTitle('Sources');
  const { search, cursor } = place.query;
  const path = withQuery('/sources', { search, cursor, limit: 50, include_total_count: true });
  const list = useLoad(path, (signal) => get(path, signal));
  const find = (/** @type {any} */ event) => { location.hash = view(place.path, { search: event.target.value }); };
  return html`<h1>Sources</h1>
    <form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><label>Name or words <input type="search" dir="auto" value=${search ?? ''} onChange=${find} /></label></form>
    <${Drop} stored=${list.reload} />
    ${list.data && !list.busy ? html`<${Files} list=${list.data} place=${place} />` : html`<${Waiting} loaded=${list} />`}
    <${Json} answers=${{ [`GET ${path}`]: list.data }} />`;
}

/** @param {{list: import('./api.js').Answer<'/sources'>, place: Place}} props */
function Files({ list, place }) {
  if (!list.sources.length) return html`<p class="empty">${place.query.search ? 'No file has this name or these words.' : html`No file is stored. Drop one onto this page, or store it with <code>graphmem upload FILE</code>; what is read from it names its place in the file.`}</p>`;
  return html`<p class="soft">${count(list.total ?? list.sources.length)} in all</p>
    <ul class="rows">${list.sources.map((each) => html`<li key=${each.source_id}><a href=${view(`/source/${encodeURIComponent(each.source_id)}`)}><bdi class="name">${each.original_filename ?? each.source_id}</bdi></a>
      <span class="soft">${each.withdrawn && html`<span class="badge warn">withdrawn</span> `}${each.mime_type}, ${size(each.file_size)}, ${many(each.observation_count, 'observation')}, <${Time} at=${each.created_at} /></span></li>`)}</ul>
    <${Pager} place=${place} next=${list.next_cursor} shown=${list.sources.length} />`;
}

/** @param {{place: Place, id: string}} props */
export function Source({ place, id }) {
  const start = place.query.start ? Number(place.query.start) : null;
  const end = place.query.end ? Number(place.query.end) : start;
  const offset = Number(place.query.offset ?? Math.max(0, (start ?? 0) - BEFORE));
  const safe = encodeURIComponent(id);
  const path = withQuery(`/sources/${safe}`, { include_text: true, offset, limit: TEXT });
  const text = useLoad(path, (signal) => get(path, signal));
  const read = useLoad(`${id} read`, async (signal) => {
    const [observations, interpretations] = await Promise.all([
      quietly(withQuery('/observations', { source_id: id, limit: 100, include_total_count: true, max_characters: 300_000 }), signal),
      quietly(withQuery('/interpretations', { source_id: id }), signal),
    ]);
    return { observations, interpretations };
  });
  const [deed, act] = useState(/** @type {any} */ (null));
  const close = () => act(null);
  const renewed = () => { text.reload(); read.reload(); };
  useTitle(text.data?.original_filename ?? 'A file');
  if (!text.data) return html`<h1>A file</h1><${Waiting} loaded=${text} />`;
  return html`<h1><bdi>${text.data.original_filename ?? 'A file'}</bdi></h1>
    <${About} source=${text.data} act=${act} />
    <div class="panels two">
      <section class="panel"><h2>Text</h2><${Passage} place=${place} document=${text.data.document} start=${start} end=${end} /></section>
      <section class="panel"><h2>What was read from it</h2>${read.data ? html`<${Read} ...${read.data} place=${place} act=${act} />` : html`<${Waiting} loaded=${read} />`}</section>
    </div>
    ${isOffered('GET /receipts') && html`<${ToldTo} key=${id} of=${id} />`}
    ${deed?.interpret && html`<${Interpret} id=${id} close=${close} done=${renewed} />`}
    ${deed?.path && html`<${Withdraw} ...${deed} close=${close} done=${() => { close(); renewed(); }} />`}
    <${Json} answers=${{ [`GET ${path}`]: text.data, 'GET /observations': read.data?.observations, 'GET /interpretations': read.data?.interpretations }} />`;
}

/** @param {{source: import('./api.js').Answer<'/sources/{source_id}'>, act: (deed: any) => void}} props */
function About({ source, act }) {
  const first = source.names?.[0];
  const change = { what: 'file', path: `/sources/${encodeURIComponent(source.source_id)}`, isBack: source.withdrawn };
  return html`<p class="soft">${source.withdrawn && html`<span class="badge warn">withdrawn: nothing of it counts</span> `}${source.mime_type}, ${size(source.file_size)},
    stored <${Time} at=${source.created_at} /> ${first && html`by <bdi>${writer(first.provenance)}</bdi>`} · <code>${source.source_id}</code></p>
    ${(source.names ?? []).length > 1 && html`<p class="soft">Also stored as ${source.names.slice(1, 6).map((/** @type {any} */ each) => html`<bdi key=${each.name}>${each.name} </bdi>`)}</p>`}
    <p class="walks"><button class="quiet" onClick=${() => act({ interpret: true })}>Interpret again …</button>${isOffered(`POST /sources/{source_id}/${source.withdrawn ? 'reinstate' : 'withdraw'}`) && html`<button class="quiet" onClick=${() => act(change)}>${source.withdrawn ? 'Reinstate …' : 'Withdraw …'}</button>`}</p>`;
}

/** A part of the text, with a place in it marked. Places count characters, JavaScript counts units of UTF-16. @param {any} props */
function Passage({ place, document, start, end }) {
  const mark = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => { mark.current?.scrollIntoView({ block: 'center' }); }, [start, document]);
  if (!document) return html`<p>This file has no text that can be shown here. <code>GET /sources/{source_id}/content</code> answers its bytes.</p>`;
  const characters = Array.from(document.text);
  const cut = (/** @type {number} */ from, /** @type {number} */ to) => characters.slice(Math.max(0, from), Math.max(0, to)).join('');
  const at = start === null ? characters.length : start - document.offset;
  const until = Math.max(at, (end ?? at) - (start === null ? 0 : document.offset));
  const { offset: _, ...query } = place.query;
  return html`${document.offset > 0 && html`<p><a href=${view(place.path, { ...query, offset: Math.max(0, document.offset - TEXT) })}>Earlier text</a></p>`}
    <pre class="passage" dir="auto" tabindex="0" aria-label="Text of the file">${cut(0, at)}${start !== null && at < characters.length && html`<mark ref=${mark}>${cut(at, until)}</mark>`}${start === null ? '' : cut(until, characters.length)}</pre>
    <p class="soft">Characters ${count(document.offset)} to ${count(document.offset + characters.length)} of ${count(document.total_characters)}.
    ${document.next_offset && html` <a href=${view(place.path, { ...query, offset: document.next_offset })}>Later text</a>`}</p>
    ${(document.warnings ?? []).map((/** @type {any} */ each) => html`<p class="soft">${typeof each === 'string' ? each : each.message ?? JSON.stringify(each)}</p>`)}`;
}

/** @param {{observations: import('./api.js').Answer<'/observations'>, interpretations: import('./api.js').Answer<'/interpretations'>, place: Place, act: (deed: any) => void}} props */
function Read({ observations, interpretations, place, act }) {
  const runs = interpretations.interpretations ?? [];
  return html`${runs.map((each) => html`<p class="soft" key=${each.interpretation_id}>Read by <bdi>${each.interpreter}</bdi>, <${Time} at=${each.created_at} />: ${words(each.status)}${each.withdrawn ? ', withdrawn' : ''}${each.error_message ? html`, <bdi>${each.error_message}</bdi>` : ''}
      ${each.status === 'completed' && isOffered(`POST /interpretations/{interpretation_id}/${each.withdrawn ? 'reinstate' : 'withdraw'}`) && html`<button class="quiet" aria-label=${`${each.withdrawn ? 'Reinstate' : 'Withdraw'} what was read at ${each.created_at}`} onClick=${() => act({ what: 'reading', path: `/interpretations/${each.interpretation_id}`, isBack: each.withdrawn })}>${each.withdrawn ? 'Reinstate …' : 'Withdraw …'}</button>`}</p>`)}
    ${(observations.observations ?? []).length === 0 ? html`<p>No observation names this file.</p>` : html`<ul class="plain">${observations.observations.map((each) => html`<li key=${each.id}>
      <${Entity} id=${each.entity_id} name=${each.canonical_name ?? each.fields?.name ?? each.fields?.title} type=${each.entity_type} />
      <ul class="places">${Object.keys(each.fields ?? {}).slice(0, 30).map((field) => html`<li key=${field}><${Spot} place=${place} field=${field} span=${each.span?.fields?.[field] ?? each.span} /></li>`)}</ul></li>`)}</ul>`}
    ${observations.next_cursor && html`<p class="soft">The newest ${observations.observations.length} of ${count(observations.total ?? 0)} observations.</p>`}`;
}

/** @param {any} props */
function Spot({ place, field, span }) {
  if (span?.start === undefined) return html`<span>${words(field)}</span>`;
  return html`<a href=${view(place.path, { start: span.start, end: span.end })}>${words(field)}</a>`;
}
