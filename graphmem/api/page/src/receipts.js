// Receipts: who was told something of an entity or a file, and one receipt with what would be told otherwise today.
import { html } from '../vendor/preact.js';
import { get, post, withQuery } from './api.js';
import { Entity, Json, SourceLink, Time, Value, Waiting, count, quietly, useLoad, useTitle, view, words, writer } from './parts.js';

/** Who was told something of an entity or a file; nothing where nobody was. @param {{of: string}} props */
export function ToldTo({ of }) {
  const path = withQuery('/receipts', { of, limit: 10, include_total_count: true });
  const list = useLoad(path, (signal) => quietly(path, signal));
  const receipts = list.data?.receipts ?? [];
  if (!receipts.length) return null;
  return html`<section aria-labelledby="told"><h2 id="told">Told to</h2><ul class="plain">${receipts.map((/** @type {any} */ each) => html`<li key=${each.receipt_id}>
      <bdi>${writer(each.provenance)}</bdi>, <${Time} at=${each.created_at} />: <a href=${view(`/receipt/${each.receipt_id}`)}><bdi>${each.question || words(each.operation)}</bdi></a></li>`)}</ul>
    ${list.data?.next_cursor && html`<p class="soft">The newest ${receipts.length} of ${count(list.data.total ?? 0)}.</p>`}</section>`;
}

/** One receipt: what was told, what is behind it, and what differs today. @param {{id: string}} props */
export function Receipt({ id }) {
  const path = /** @type {'/receipts/{receipt_id}'} */ (`/receipts/${encodeURIComponent(id)}`);
  const receipt = useLoad(path, (signal) => get(path, signal));
  const again = useLoad(`${path}/replay`, (signal) => post(/** @type {'/receipts/{receipt_id}/replay'} */ (`${path}/replay`), {}, signal));
  useTitle('A receipt');
  if (!receipt.data) return html`<h1>A receipt</h1><${Waiting} loaded=${receipt} />`;
  const { question, operation, created_at: at, provenance, face, behind, answer } = receipt.data;
  const differences = again.data?.differences ?? [];
  return html`<h1><bdi>${question || words(operation)}</bdi></h1>
    <p class="soft">Asked by <bdi>${writer(provenance)}</bdi>, over ${face}, <${Time} at=${at} /></p>
    <section aria-labelledby="otherwise"><h2 id="otherwise">What would be told otherwise today</h2>
      ${!again.data && html`<${Waiting} loaded=${again} />`}${again.data?.same && html`<p>Nothing: the answer is the same.</p>`}
      ${differences.length > 0 && html`<ul class="plain">${differences.map((/** @type {any} */ each, /** @type {number} */ index) => html`<li key=${index}>
        <span class="badge warn">${words(each.cause)}</span> ${each.field ? words(each.field) : each.subject ? 'relationship' : 'wording or order'}${each.subject?.startsWith('ent_') && html` of <${Entity} id=${each.subject} />`}:
        ${each.then === null ? 'not told' : html`<del><${Value} value=${each.then} /></del>`} → ${each.now === null ? 'not told' : html`<ins><${Value} value=${each.now} /></ins>`}</li>`)}</ul>`}</section>
    <section aria-labelledby="behind"><h2 id="behind">What is behind it</h2><ul class="plain">${behind.map((/** @type {any} */ each, /** @type {number} */ index) => html`<li key=${index}>
      <span class=${each.state === 'unchanged' ? 'badge' : 'badge warn'}>${words(each.state)}</span> ${words(each.field || 'relationship')}${each.subject.startsWith('ent_') && html` of <${Entity} id=${each.subject} />`}${each.provenance && html`, by <bdi>${writer(each.provenance)}</bdi>`}${each.source_id && html`, <${SourceLink} observation=${each} field=${each.field} />`}</li>`)}</ul></section>
    <section aria-labelledby="answer"><h2 id="answer">What was told</h2><pre class="passage" dir="auto" tabindex="0" aria-label="What was told">${answer}</pre></section>
    <${Json} answers=${{ [`GET ${path}`]: receipt.data, [`POST ${path}/replay`]: again.data }} />`;
}
