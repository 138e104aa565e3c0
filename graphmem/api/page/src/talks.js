// Conversations: who spoke when, what was said turn by turn, and what was stored meanwhile.
import { html, useState } from '../vendor/preact.js';
import { post, withQuery } from './api.js';
import { ChangeLine } from './lists.js';
import { Entity, Json, Pager, Time, Value, Waiting, count, quietly, useLoad, useTitle } from './parts.js';

/** @typedef {import('./parts.js').Place} Place */

const TURNS = 100;
/** What an agent stores is written while it answers, or a little later. */
const AROUND_MS = 5 * 60_000;

/** @param {{place: Place}} props */
export function Conversations({ place }) {
  useTitle('Conversations');
  const { cursor } = place.query;
  /** @type {import('./api.js').Body<'/entities/query'>} */
  const asked = { entity_type: 'conversation', sort_by: 'last_observation_at', sort_order: 'desc', limit: 50, include_snapshots: true, provenance: 'none', include_total_count: true, max_characters: 300_000, ...(cursor && { cursor }) };
  const loaded = useLoad(JSON.stringify(asked), (signal) => post('/entities/query', asked, signal));
  const { data } = loaded;
  if (!data) return html`<h1>Conversations</h1><${Waiting} loaded=${loaded} />`;
  return html`<h1>Conversations</h1>
    ${data.entities.length ? html`<p class="soft">${count(data.total ?? data.entities.length)} in all, the newest first. Each leads to its turns.</p><ul class="rows">${data.entities.map((each) => html`<li key=${each.entity_id}><span><${Entity} id=${each.entity_id} name=${each.canonical_name} />
      ${each.snapshot?.session && html`<br /><span class="soft">session <bdi>${String(each.snapshot.session)}</bdi></span>`}</span><span class="soft">from <${Time} at=${each.created_at} /> to <${Time} at=${each.last_observation_at} /></span></li>`)}</ul><${Pager} place=${place} next=${data.next_cursor} shown=${data.entities.length} />`
      : html`<p class="empty">No conversation is stored. <code>graphmem setup --hooks</code> lets agents keep theirs, and an export of a chat can be dropped onto Home.</p>`}
    <${Json} answers=${{ [`POST /entities/query ${JSON.stringify(asked)}`]: data }} />`;
}

/** The turns of a conversation in their order, by pages. @param {{id: string}} props */
export function Turns({ id }) {
  const [cursor, go] = useState('');
  /** @type {import('./api.js').Body<'/entities/query'>} */
  const asked = { related_to: id, relationship_types: ['PART_OF'], entity_type: 'message', sort_by: 'snapshot.sent_at', sort_order: 'asc', limit: TURNS, include_snapshots: true, provenance: 'none', max_characters: 500_000, ...(cursor && { cursor }) };
  const loaded = useLoad(JSON.stringify(asked), (signal) => post('/entities/query', asked, signal));
  if (!loaded.data) return html`<section><h2>What was said</h2><${Waiting} loaded=${loaded} /></section>`;
  const { entities, next_cursor: next } = loaded.data;
  if (!entities.length && !cursor) return null;
  const said = entities.map((each) => ({ ...each.snapshot, id: each.entity_id }));
  return html`<section aria-labelledby="said"><h2 id="said">What was said</h2><ol class="turns">${said.map((/** @type {any} */ each) => html`<li key=${each.id} class=${each.sender === 'user' ? 'asks' : ''}><h3><bdi>${String(each.sender ?? 'somebody')}</bdi> <span class="soft"><${Time} at=${each.sent_at} /></span> <${Entity} id=${each.id} name="as it is stored" /></h3><${Value} value=${each.content ?? each.body ?? each.text} /></li>`)}</ol>
    ${(cursor || next) && html`<p>${cursor && html`<button onClick=${() => go('')}>First turns</button> `}${next && html`<button onClick=${() => go(next)}>Later turns</button>`}</p>`}
    <${Meanwhile} said=${said} /></section>`;
}

/** What the agent of a conversation stored while it lasted, the newest first. @param {{said: any[]}} props */
function Meanwhile({ said }) {
  const agent = said.find((each) => each.channel)?.channel;
  const times = said.map((each) => Date.parse(each.sent_at)).filter(Boolean);
  const [since, until] = [Math.min(...times) - AROUND_MS, Math.max(...times) + AROUND_MS];
  const path = agent && times.length ? withQuery('/changes', { by_client: agent, since: new Date(since).toISOString(), until: new Date(until).toISOString(), limit: 100 }) : '';
  const loaded = useLoad(path, async (signal) => (path ? quietly(path, signal) : { changes: [] }));
  /** @type {any[]} */
  const changes = (loaded.data?.changes ?? []).filter((/** @type {any} */ each) => each.entity_id && !['message', 'conversation'].includes(each.entity_type));
  return html`<h3>Also stored meanwhile</h3>${changes.length ? html`<ul class="plain">${changes.map((each) => html`<li key=${each.event_id}><${ChangeLine} change=${each} /></li>`)}</ul>` : html`<p class="soft">Nothing but the turns.</p>`}`;
}
