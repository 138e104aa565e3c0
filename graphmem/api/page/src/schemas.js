// Entity types: their fields, what makes two entities one, how a value wins, and what does not fit.
import { html } from '../vendor/preact.js';
import { get, post, withQuery } from './api.js';
import { Json, Pager, Problem, Time, Type, Waiting, many, useLoad, useTitle, view, words } from './parts.js';

/** @typedef {import('./parts.js').Place} Place */

/** @type {Record<string, string>} */
const ORIGINS = { registered: 'registered here', shipped: 'comes with graphmem', discovered: 'seen in what was stored' };
/** @type {Record<string, string>} */
const MERGES = {
  last_write: 'the newest', highest_priority: 'the highest priority', most_specific: 'the most specific', merge_array: 'all of them, as a list',
};

/** @param {{place: Place}} props */
export function Schemas({ place }) {
  useTitle('Schemas');
  const { keyword, cursor, all } = place.query;
  const path = withQuery('/schemas', { keyword, cursor, include_shipped: all, limit: 50 });
  const list = useLoad(path, (signal) => get(path, signal));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    const value = event.target.type === 'checkbox' ? event.target.checked || null : event.target.value;
    location.hash = view(place.path, { keyword, all, [name]: value });
  };
  return html`<h1>Schemas</h1>
    <form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>Type or field <input type="search" dir="auto" value=${keyword ?? ''} onChange=${set('keyword')} /></label>
      <label><input type="checkbox" checked=${Boolean(all)} onChange=${set('all')} /> types without entities too</label></form>
    ${list.data && !list.busy ? html`<${Types} list=${list.data} place=${place} />` : html`<${Waiting} loaded=${list} />`}
    <${Json} answers=${{ [`GET ${path}`]: list.data }} />`;
}

/** @param {{list: any, place: Place}} props */
function Types({ list, place }) {
  if (!list.schemas.length) return html`<p class="empty">No type fits. A type exists once an entity of it is stored, or once <code>graphmem schemas register</code> says how it is.</p>`;
  return html`<ul class="rows">${list.schemas.map((/** @type {any} */ each) => html`<li key=${each.entity_type}>
      <span><a href=${view(`/schema/${encodeURIComponent(each.entity_type)}`)}><${Type} type=${each.entity_type} /></a> <span class="soft">${each.description}</span></span>
      <span class="soft">${many(each.entity_count, 'entity')}, ${many(each.field_names.length, 'field')}, ${ORIGINS[each.origin] ?? each.origin}</span></li>`)}</ul>
    <${Pager} place=${place} next=${list.next_cursor} shown=${list.schemas.length} />`;
}

/** @param {{id: string}} props */
export function Schema({ id }) {
  useTitle(words(id));
  const path = `/schemas/${encodeURIComponent(id)}`;
  const loaded = useLoad(path, (signal) => get(path, signal));
  const body = { entity_type: id };
  const misfits = useLoad(`${path} fit`, (signal) => post('/get_schema_recommendations', body, signal));
  if (!loaded.data) return html`<h1>A schema</h1><${Waiting} loaded=${loaded} />`;
  const schema = loaded.data;
  return html`<div class="head"><h1>The type <bdi>${words(id)}</bdi></h1> <span class="badge">${ORIGINS[schema.origin] ?? schema.origin}</span></div>
    <p>${schema.description}</p>
    <p class="soft"><a href=${view('/entities', { type: id })}>${many(schema.entity_count, 'entity')}</a>, ${many(schema.observation_count, 'observation')}${schema.schema_version && `, version ${schema.schema_version}`}${schema.updated_at && html`, last stored <${Time} at=${schema.updated_at} />`}</p>
    <section aria-labelledby="rules"><h2 id="rules">Rules</h2><${Rules} schema=${schema} /></section>
    <section aria-labelledby="fields"><h2 id="fields">Fields</h2><${FieldTable} schema=${schema} /></section>
    <section aria-labelledby="misfits"><h2 id="misfits">What does not fit</h2>${misfits.data ? html`<${Misfits} schema=${schema} answer=${misfits.data} />` : html`<${Waiting} loaded=${misfits} />`}</section>
    ${schema.versions?.length > 0 && html`<section aria-labelledby="versions"><h2 id="versions">Versions</h2><ul class="plain">${schema.versions.map((/** @type {any} */ each) => html`<li key=${each.transaction_id}>${each.version} <span class="soft">registered <${Time} at=${each.registered_at} /></span></li>`)}</ul></section>`}
    <${Json} answers=${{ [`GET ${path}`]: schema, [`POST /get_schema_recommendations ${JSON.stringify(body)}`]: misfits.data }} />`;
}

/** @param {{schema: any}} props */
function Rules({ schema }) {
  const names = (/** @type {string[]} */ list) => list.map((each, index) => html`${index > 0 && ' and '}<b><bdi>${words(each)}</bdi></b>`);
  const alternatives = new Map((schema.identity ?? []).map((/** @type {string[]} */ each) => [each.join(), each]));
  const [first, ...rest] = [...alternatives.values()];
  const declared = schema.canonical_name_fields ?? [];
  return html`<ul class="plain">
    <li>${first ? html`Two are one entity if they have the same ${names(first)}${rest.slice(0, 12).map((/** @type {string[]} */ each) => html`, or else the same ${names(each)}`)}${rest.length > 12 && ' …'}.` : 'No fields say that two are one entity.'}</li>
    ${declared.length > 0 && html`<li>Its name is ${declared.map((/** @type {any} */ each, /** @type {number} */ index) => html`${index > 0 && ', or else '}${names(Object.values(each).flat())}`)}.</li>`}
    <li>A field that is not declared is ${schema.additional_fields === 'show' ? 'shown as well' : 'stored and not shown'}. A value of another type than declared is ${schema.mismatch === 'show' ? 'shown as it is' : 'stored and not shown'}.</li>
    ${schema.observation_source_priority?.length > 0 && html`<li>What wins first: ${schema.observation_source_priority.map(words).join(', then ')}.</li>`}
    ${schema.temporal_fields?.length > 0 && html`<li>On the timeline: ${names(schema.temporal_fields.map((/** @type {any} */ each) => each.field ?? Object.values(each)[0]))}.</li>`}
    ${schema.reference_fields?.length > 0 && html`<li>Leads to other entities: ${names(schema.reference_fields.map((/** @type {any} */ each) => each.field ?? Object.values(each)[0]))}.</li>`}
    ${schema.aliases?.length > 0 && html`<li>Other names of the type: ${schema.aliases.map(words).join(', ')}.</li>`}
  </ul>`;
}

/** @param {{schema: any}} props */
function FieldTable({ schema }) {
  const names = [...new Set([...Object.keys(schema.fields), ...Object.keys(schema.seen)])].sort();
  if (!names.length) return html`<p class="empty">No field is declared, and none was stored. Store an entity of this type, or declare fields with <code>graphmem schemas register</code>.</p>`;
  const hidden = new Set(schema.hidden_fields ?? []);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of the fields"><table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Stored as</th><th scope="col">What wins</th><th scope="col">About</th></tr></thead>
    <tbody>${names.map((name) => {
      const field = schema.fields[name];
      const seen = schema.seen[name];
      return html`<tr key=${name}><th scope="row"><bdi>${words(name)}</bdi></th>
        <td>${field ? html`${field.type}${field.required ? ', required' : ''}` : html`<span class="soft">not declared</span>`}${hidden.has(name) && html` <span class="badge">hidden</span>`}</td>
        <td>${seen ?? html`<span class="soft">nothing yet</span>`}</td>
        <td>${MERGES[field?.merge ?? 'last_write'] ?? words(field?.merge)}</td>
        <td class="soft">${field?.description}</td></tr>`;
    })}</tbody></table></div>`;
}

/** @param {{schema: any, answer: any}} props */
function Misfits({ schema, answer }) {
  if (answer.error) return html`<${Problem} error=${answer.error} />`;
  if (!answer.recommendations.length) return html`<p class="soft">All that was stored fits: ${many(answer.observations_analyzed, 'observation')} were compared.</p>`;
  return html`<p class="soft">Of the newest ${many(answer.observations_analyzed, 'observation')}. <code>graphmem schemas update ${schema.entity_type}</code> makes a change.</p>
    <ul class="plain">${answer.recommendations.slice(0, 100).map((/** @type {any} */ each) => html`<li key=${each.kind + each.field_name}><bdi>${each.message}</bdi> <span class="soft">proposed: ${words(each.kind)}${each.recommended_type && `, ${each.recommended_type}`}, ${Math.round(each.confidence * 100)} % sure</span></li>`)}</ul>`;
}
