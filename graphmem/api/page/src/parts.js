// What views are made of: values, times, links, errors, lists. All text is text, never markup.
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { Refused, get, post, withQuery } from './api.js';

/** @typedef {{path: string, query: Record<string, string>}} Place */

const SHOWN = 600;
const MORE = 50_000;
const SAFE = new Set(['http:', 'https:', 'mailto:']);
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/**
 * The address of a view.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 */
export function view(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return `#${path}${text ? `?${text}` : ''}`;
}

/** @param {string} name such as WORKS_AT or work_email */
export const words = (name) => name.replace(/_/g, ' ').toLowerCase();
/** @param {number} number */
export const count = (number) => number.toLocaleString();
/** @param {number} number @param {string} noun */
export const many = (number, noun) => `${count(number)} ${number === 1 ? noun : `${noun}s`.replace(/ys$/, 'ies')}`;

/**
 * Load what a view shows. It loads anew when the key changes; what comes too late is dropped.
 * @template T
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @returns {{data: T | null, error: any, busy: boolean, reload: () => void}}
 */
export function useLoad(key, load) {
  const [state, set] = useState(/** @type {any} */ ({ key: null, data: null, error: null }));
  const [turn, again] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    load(control.signal).then(
      (/** @type {any} */ data) => control.signal.aborted || set({ key, data, error: null }),
      (/** @type {any} */ error) => control.signal.aborted || set({ key, data: null, error }),
    );
    return () => control.abort();
  }, [key, turn]);
  return { ...state, busy: state.key !== key, reload: () => again((/** @type {number} */ each) => each + 1) };
}

/** @param {{error: any}} props */
export function Problem({ error }) {
  const text = error instanceof Refused ? error.message : `The page met a fault: ${error?.message ?? error}`;
  return html`<div class="problem" role="alert">
    <p dir="auto">${text}</p>
    ${error?.trace && html`<p class="soft">Trace id: <code>${error.trace}</code></p>`}
  </div>`;
}

/** The view of something that the service refuses everybody. @param {{title: string}} props */
export const Closed = ({ title }) => html`<h1>${title}</h1><p class="empty">A public sandbox does not offer this. Its terms, at the top of the page, say what it offers.</p>`;

/** What a view shows until it is loaded, or where it cannot be. @param {{loaded: any}} props */
export function Waiting({ loaded }) {
  if (loaded.error) return html`<${Problem} error=${loaded.error} />`;
  return html`<p class="waiting" role="status">Loading …</p>`;
}

/** @param {{at: string | null | undefined, day?: boolean}} props */
export function Time({ at, day = false }) {
  if (!at) return null;
  const instant = new Date(at);
  const isDay = day || !at.includes('T') || at.includes('T00:00:00');
  const text = Number.isNaN(instant.valueOf()) ? at : (isDay ? DAY : MOMENT).format(instant);
  return html`<time datetime=${at} title=${`${at} (UTC)`}>${text}</time>`;
}

/** A text: with a link if it is one address, and cut if it is long. @param {{text: string}} props */
export function Text({ text }) {
  const [shown, show] = useState(SHOWN);
  if (text.length <= shown) return html`<bdi class="text">${linked(spelled(text))}</bdi>`;
  const next = shown === SHOWN ? Math.min(MORE, text.length) : text.length;
  return html`<div><bdi class="text">${spelled(whole(text, shown))}…</bdi>
    <button class="quiet" onClick=${() => show(next)}>Show ${next === text.length ? 'all ' : ''}${count(next)} of ${count(text.length)} characters</button>
  </div>`;
}

/**
 * Cut a text, and no character of two units in half.
 * @param {string} text
 * @param {number} units
 */
const whole = (text, units) => text.slice(0, /[\ud800-\udbff]/.test(text[units - 1] ?? '') ? units - 1 : units);

/** @param {string} text */
function linked(text) {
  if (!/^(https?:\/\/|mailto:)\S+$/i.test(text) || text.length > 2_000) return text;
  try {
    return SAFE.has(new URL(text).protocol) ? html`<a href=${text} target="_blank" rel="noopener noreferrer nofollow">${text}</a>` : text;
  } catch {
    return text;
  }
}

/** A value of a field, of any kind of JSON. @param {{value: any, depth?: number}} props @returns {any} */
export function Value({ value, depth = 0 }) {
  const [limit, more] = useState(50);
  if (value === null || value === undefined) return html`<span class="soft">no value</span>`;
  if (typeof value === 'string') return value ? html`<${Text} text=${value} />` : html`<span class="soft">empty text</span>`;
  if (typeof value !== 'object') return html`<bdi>${String(value)}</bdi>`;
  if (depth > 3) return html`<${Text} text=${JSON.stringify(value)} />`;
  const entries = Object.entries(value);
  const rest = entries.length > limit && html`<button class="quiet" onClick=${() => more(entries.length)}>Show all ${count(entries.length)}</button>`;
  const shown = entries.slice(0, limit);
  if (Array.isArray(value)) {
    return html`<ul class="values">${shown.map(([name, each]) => html`<li key=${name}><${Value} value=${each} depth=${depth + 1} /></li>`)}</ul>${rest}`;
  }
  return html`<dl class="inner">${shown.map(([name, each]) => html`<div key=${name}><dt><bdi>${name}</bdi></dt><dd><${Value} value=${each} depth=${depth + 1} /></dd></div>`)}</dl>${rest}`;
}

/**
 * A text whose characters that change the direction of what follows are spelled out: a name reads as it is.
 * @param {string} text
 */
export const spelled = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (each) => `<U+${each.charCodeAt(0).toString(16).toUpperCase()}>`);

/** Fields as people read them: the name, how to reach it, then the rest by the alphabet. @param {string[]} names */
export function ordered(names) {
  const first = [/^(canonical_name|name|title|full_name)$/, /name|title/, /mail|phone|mobile|address|url|website/];
  const rank = (/** @type {string} */ name) => [...first, /./s].findIndex((each) => each.test(name));
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** What a search says of all that it answers: how it fits, and what to do. @param {{answer: any}} props */
export function Match({ answer }) {
  if (!answer.hint && !answer.match) return null;
  return html`<p class="left-out">${answer.match && html`<span class="badge warn">${words(answer.match)}</span> `}<bdi>${answer.hint}</bdi></p>`;
}

/** Why a search answers an entity. @param {{hit: any}} props */
export function Hit({ hit }) {
  return html` <span class="soft">${[hit.matched && `found by ${words(hit.matched)}`, hit.matched_field && `in ${words(hit.matched_field)}`, hit.formerly && 'formerly'].filter(Boolean).join(', ')}</span>${hit.match && html` <span class="badge">${words(hit.match)}</span>`}`;
}

/** @param {{id: string, name?: string | null, type?: string | null, query?: Record<string, unknown>}} props */
export function Entity({ id, name, type, query = {} }) {
  return html`<a href=${view(`/entity/${encodeURIComponent(id)}`, query)}><bdi class="name">${spelled((name || id).slice(0, 300))}</bdi></a>${type && html` <${Type} type=${type} />`}`;
}

/** @param {{type: string}} props */
export const Type = ({ type }) => html`<span class="type" dir="auto">${words(type)}</span>`;

/**
 * Who wrote something, in words.
 * @param {any} provenance
 */
export function writer(provenance) {
  const by = provenance?.by ?? {};
  const signed = provenance?.agent && !['anonymous', 'unverified_client'].includes(provenance.agent) && `signed by ${provenance.agent}`;
  const means = [provenance?.client, signed].filter(Boolean).join(', ');
  return `${by.account_name ?? 'somebody'}${means && ` (${means})`}`;
}

/** The link to the place of an observation in its file. @param {{observation: any, field?: string}} props */
export function SourceLink({ observation, field }) {
  if (!observation?.source_id) return html`<span class="soft">${sourceWords(observation)}</span>`;
  const span = (field && observation.span?.fields?.[field]) || observation.span;
  const where = span?.page ? `page ${span.page}` : span?.line ? `line ${span.line}` : 'the file';
  return html`<a href=${view(`/source/${encodeURIComponent(observation.source_id)}`, { start: span?.start, end: span?.end })}>${where} of a file</a>`;
}

/** Who said what no file says, by the kind of its source. @type {Record<string, string>} */
const KINDS = { human: 'said by a person', llm_summary: 'said by an agent', sensor: 'measured', workflow_state: 'from a program', import: 'imported', sync: 'from a program' };

/** @param {any} observation */
function sourceWords(observation) {
  if (observation?.kind === 'correction') return 'no file';
  return KINDS[observation?.observation_source] ?? 'no file';
}

/** Pages of a list by their cursors, with the number of rows before: back is that of the browser. @param {{place: Place, next: string | null | undefined, shown: number}} props */
export function Pager({ place, next, shown }) {
  const { cursor, skip, ...rest } = place.query;
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<a href=${view(place.path, rest)}>First page</a>`}
    <span class="soft">${count(shown)} on this page</span>
    ${next && html`<a href=${view(place.path, { ...rest, cursor: next, skip: Number(skip ?? 0) + shown })} rel="next">Next page</a>`}
  </nav>`;
}

/** What the service answered for a view, as it came. @param {{answers: Record<string, any>}} props */
export function Json({ answers }) {
  if (!Object.values(answers).some(Boolean)) return null;
  return html`<details class="json"><summary>JSON</summary>
    ${Object.entries(answers).filter(([, answer]) => answer).map(([request, answer]) => html`<${JsonAnswer} key=${request} request=${request} answer=${answer} />`)}
  </details>`;
}

/** @param {{request: string, answer: any}} props */
function JsonAnswer({ request, answer }) {
  const [limit, show] = useState(20_000);
  const text = JSON.stringify(answer, null, 2);
  return html`<p><code>${request}</code></p>
    <pre tabindex="0" aria-label=${`Answer to ${request.slice(0, 100)}`}>${text.slice(0, limit)}</pre>
    ${text.length > limit && html`<button class="quiet" onClick=${() => show(text.length)}>Show all ${count(text.length)} characters</button>`}`;
}

/** A modal dialog; Escape closes it and the focus goes back. @param {{title: string, close: () => void, children?: any}} props */
export function Dialog({ title, close, children }) {
  const node = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = node.current;
    dialog?.showModal();
    // Nothing outside of an open dialog takes the focus.
    return () => dialog?.close();
  }, []);
  return html`<dialog ref=${node} onCancel=${close} aria-labelledby="dialog-title">
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/** Entities as a deed would change them, field by field. @param {{entities: any[] | undefined}} props */
export function ChangeList({ entities }) {
  return html`<ul class="preview">${(entities ?? []).map((each) => html`<li key=${each.entity_id}>
    ${each.entity_id === 'new' ? html`<bdi>${each.canonical_name}</bdi>` : html`<${Entity} id=${each.entity_id} name=${each.canonical_name} type=${each.entity_type} />`} ${each.change}
    ${(each.fields ?? []).map((/** @type {any} */ field) => html`<div class="was"><b>${words(field.field)}</b>: <${Was} value=${field.old_value} /> → <${Was} value=${field.new_value} /></div>`)}
  </li>`)}</ul>`;
}

/** Take a transaction back: first what it would do, then the deed. @param {{transaction: string, close: () => void, done: () => void}} props */
export function Undo({ transaction, close, done }) {
  const preview = useLoad(transaction, (signal) => post('/undo', { transaction_id: transaction, dry_run: true, limit: 50, max_characters: 200_000 }, signal));
  const [state, set] = useState(/** @type {any} */ ({}));
  const undo = () => {
    set({ busy: true });
    post('/undo', { transaction_id: transaction }).then(done, (error) => set({ error }));
  };
  const isMerge = preview.data?.undone[0]?.operation === 'entities.merge';
  return html`<${Dialog} title="Take this back?" close=${close}>
    ${preview.data ? html`<p>${isMerge ? 'The merge ends: each of the two is an entity of its own again, with its own observations.' : `${many(preview.data.counts?.observations ?? 0, 'observation')} of one transaction will count no more. The history keeps what was said, and it can be reinstated.`}</p>
      <${ChangeList} entities=${preview.data.entities} />` : html`<${Waiting} loaded=${preview} />`}
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${!preview.data || state.busy} onClick=${undo}>Take back</button><button onClick=${close}>Keep</button></div>
  </${Dialog}>`;
}

/** @typedef {{said: string, transaction?: string | null, other?: string | null, undo?: () => Promise<any>}} Done what was done, and how it is taken back */

/** @type {Done | null} */
let last = null;

/** Leave a report of what was done to the view that comes next. @param {Done} done */
export const leaveReport = (done) => { last = done; };

/** Take the report that was left. */
export function takeReport() {
  const done = last;
  last = null;
  return done;
}

/** A value before or after, in short. @param {{value: any}} props */
export function Was({ value }) {
  if (value === undefined || value === null) return html`<span class="soft">nothing</span>`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return html`<bdi>${spelled(whole(text, 200))}${text.length > 200 ? '…' : ''}</bdi>`;
}

/** What is known of a relationship, such as since when it is. @param {{snapshot: Record<string, any>}} props */
export function Details({ snapshot }) {
  const details = Object.entries(snapshot);
  return details.length > 0 && html` <span class="soft">(${details.slice(0, 12).map(([name, value], index) => html`${index ? ', ' : ''}${words(name)} <${Was} value=${value} />`)})</span>`;
}

/** Name the view in the title of the tab. @param {string} text */
export const useTitle = (text) => useEffect(() => { document.title = `${text.slice(0, 100)} · graphmem`; }, [text]);

/**
 * The answer, or what went wrong, for a part of a view without which the rest is still shown.
 * @template {string} P
 * @param {P} path
 * @param {AbortSignal} signal
 * @returns {Promise<import('./api.js').Answer<P> & {error?: any}>}
 */
export const quietly = (path, signal) => get(path, signal).catch((error) => /** @type {any} */ ({ error }));

/** A link to an entity in the Neo4j Browser, where the database is embedded and on this machine. @param {{id: string}} props */
export function InBrowser({ id }) {
  const info = useLoad('', (signal) => quietly('/server-info', signal));
  const browser = info.data?.neo4j_browser_url;
  if (!browser) return null;
  const query = `MATCH path = (entity:Entity {id: '${id.replace(/[^\w-]/g, '')}'})-[edge {live: true}]-(other:Entity) WHERE other.listed IS NOT NULL RETURN path LIMIT 100`;
  return html` · <a href=${withQuery(browser, { cmd: 'edit', arg: query })} target="_blank" rel="noopener noreferrer" title="The login: graphmem db info">Open in Neo4j Browser</a>`;
}
