// The graph: a walk from one entity, as a picture and as a list of the same.
import { html, useEffect, useState } from '../vendor/preact.js';
import { post } from './api.js';
import { Details, Entity, InBrowser, Json, Problem, Type, Waiting, count, many, quietly, spelled, useLoad, useTitle, view, words } from './parts.js';
import { Mark, Picture } from './picture.js';

/** @typedef {import('./parts.js').Place} Place */
/** @typedef {import('./api.js').Posted<'/retrieve_related_entities'>} Related */
/** @typedef {{id: string, name: string, type: string}} Node */
/** @typedef {{key: string, type: string, source: string, target: string, snapshot: Record<string, any>}} Edge */

const SIZES = [50, 100, 200, 400];
const DEPTHS = [1, 2, 3];
const WALKED_LIMIT = 12;
const STARTS = 6;
const SENTENCES = 8;

/** The graph from where most is known: a walk from the entities with the most observations. @param {{place: Place}} props */
export function GraphOfAll({ place }) {
  /** @type {import('./api.js').Body<'/entities/query'>} */
  const asked = { sort_by: 'observation_count', sort_order: 'desc', limit: 100, include_snapshots: false };
  const loaded = useLoad('starts', (signal) => post('/entities/query', asked, signal));
  if (!loaded.data) return html`<h1>Graph</h1><${Waiting} loaded=${loaded} />`;
  const [first, ...rest] = loaded.data.entities.filter((each) => !['message', 'conversation'].includes(each.entity_type)).slice(0, STARTS).map((each) => each.entity_id);
  if (!first) return html`<h1>Graph</h1><p class="empty">Nothing is stored yet that a graph would show.</p>`;
  return html`<${Graph} place=${{ path: `/graph/${encodeURIComponent(first)}`, query: { walked: rest.join(','), ...place.query } }} id=${first} />
    <p class="soft">The walk begins at the ${count(rest.length + 1)} entities that have the most observations. “Its graph” in the view of an entity begins there.</p>`;
}

/** @param {{place: Place, id: string}} props */
export function Graph({ place, id }) {
  const { depth = '1', rel, at, at_ingested: ingested, current, limit = '50', walked = '', hide = '' } = place.query;
  /** @type {Omit<import('./api.js').Body<'/retrieve_related_entities'>, 'entity_id'>} */
  const asked = {
    depth: Number(depth), limit: Number(limit), fields: ['name'], provenance: 'none', relationship_types: rel ? [rel] : [],
    current: current === '1', ...(at && { at }), ...(ingested && { at_ingested: ingested }),
  };
  const further = walked.split(',').filter(Boolean).slice(0, WALKED_LIMIT);
  const requests = [{ entity_id: id, ...asked }, ...further.map((each) => ({ entity_id: each, ...asked, depth: 1 }))];
  const loaded = useLoad(JSON.stringify(requests), (signal) => Promise.all(requests.map((each) => post('/retrieve_related_entities', each, signal))));
  const types = useLoad('types', (signal) => quietly('/relationship_types?limit=500', signal));
  const name = loaded.data?.[0].canonical_name ?? 'an entity';
  useTitle(`Graph of ${name}`);
  const go = (/** @type {Record<string, unknown>} */ query) => { location.hash = view(place.path, { ...place.query, ...query }); };
  return html`<h1>Graph of <bdi>${spelled(name.slice(0, 300))}</bdi></h1>
    <${Filters} place=${place} types=${types.data} go=${go} />
    ${loaded.error && html`<${Problem} error=${loaded.error} />`}
    ${loaded.data ? html`<div class=${loaded.busy ? 'stale' : ''}><${Drawn} answers=${loaded.data} place=${place} hidden=${hide.split(',')} walked=${further} go=${go} /></div>` : !loaded.error && html`<${Waiting} loaded=${loaded} />`}
    ${loaded.data && html`<${Json} answers=${Object.fromEntries(loaded.data.map((answer, index) => [`POST /retrieve_related_entities ${JSON.stringify(requests[index])}`, answer]))} />`}`;
}

/** @param {any} props */
function Filters({ place, types, go }) {
  const { depth = '1', rel = '', at = '', at_ingested: ingested, current, as } = place.query;
  const used = (types?.relationship_types ?? []).filter((/** @type {any} */ each) => each.relationship_count > 0).map((/** @type {any} */ each) => each.relationship_type);
  const names = [...new Set([...used, ...(rel ? [rel] : [])])].sort();
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => go({ [name]: event.target.value });
  // A day means its end, so that what became so on it is shown.
  const day = (/** @type {any} */ event) => go({ at: event.target.value && `${event.target.value}T23:59:59.999999Z` });
  return html`<form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <label>Relationship <select value=${rel} onChange=${set('rel')}><option value="">any</option>${names.map((each) => html`<option key=${each} value=${each}>${words(each)}</option>`)}</select></label>
    <label>Steps <select value=${depth} onChange=${set('depth')}>${DEPTHS.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <label>As it was on <input type="date" value=${at.slice(0, 10)} onChange=${day} /></label>
    <label><input type="checkbox" checked=${current === '1'} onChange=${(/** @type {any} */ event) => go({ current: event.target.checked ? '1' : '' })} /> hide what has ended</label>
    ${ingested && html`<span>As it was known at ${ingested} <a href=${view(place.path, { ...place.query, at_ingested: '' })}>Show what is known now</a></span>`}
    <span role="group" aria-label="Show as">${['picture', 'list'].map((each) => html`<a key=${each} class="choice" href=${view(place.path, { ...place.query, as: each === 'list' ? each : '' })} aria-current=${(as ?? 'picture') === each ? 'true' : undefined}>${each === 'list' ? 'List' : 'Picture'}</a>`)}</span>
  </form>`;
}

/** Put answers together: each entity and each relationship once. @param {Related[]} answers @param {string[]} hidden types */
export function together(answers, hidden) {
  /** @type {Map<string, Node>} */
  const nodes = new Map();
  /** @type {Map<string, Edge>} */
  const edges = new Map();
  for (const answer of answers) {
    for (const each of [answer, ...(answer.entities ?? [])]) nodes.set(each.entity_id, { id: each.entity_id, name: each.canonical_name || each.entity_id, type: each.entity_type });
    for (const each of answer.relationships) edges.set(each.relationship_key, { key: each.relationship_key, type: each.relationship_type, source: each.source_entity_id, target: each.target_entity_id, snapshot: each.snapshot });
  }
  const starts = new Set(answers.map((each) => each.entity_id));
  const types = new Map();
  for (const each of nodes.values()) types.set(each.type, (types.get(each.type) ?? 0) + 1);
  const shown = new Map([...nodes].filter(([id, each]) => starts.has(id) || !hidden.includes(each.type)));
  return { types, nodes: shown, edges: [...edges.values()].filter((each) => shown.has(each.source) && shown.has(each.target)) };
}

/** @param {any} props */
function Drawn({ answers, place, hidden, walked, go }) {
  const [chosen, choose] = useState(answers[0].entity_id);
  const root = answers[0].entity_id;
  const { types, nodes, edges } = together(answers, hidden);
  useEffect(() => choose(root), [root]);
  const walk = (/** @type {string} */ id) => {
    if (id !== root && !walked.includes(id)) go({ walked: [...walked, id].slice(-WALKED_LIMIT).join(',') });
  };
  const turn = (/** @type {string} */ type) => go({ hide: (hidden.includes(type) ? hidden.filter((/** @type {string} */ each) => each !== type) : [...hidden, type]).filter(Boolean).join(',') });
  const node = nodes.get(chosen) ?? nodes.get(root);
  const walks = { walk, root, walked, place };
  return html`<ul class="types legend" aria-label="Types; press one to hide or show it">${[...types].sort(([a], [b]) => (a < b ? -1 : 1)).map(([type, number]) => html`<li key=${type}><button aria-pressed=${!hidden.includes(type)} onClick=${() => turn(type)}><${Mark} type=${type} /> <span dir="auto">${words(type)}</span> <b>${count(number)}</b></button></li>`)}</ul>
    <${LeftOut} answers=${answers} place=${place} />
    ${answers[0].entities.length === 0 && html`<p class="empty">Nothing is related to it${Object.keys(place.query).length ? ' as you ask. Take away a filter, or choose a later day' : '. A relationship is stored by the tool create_relationship, or in the view of the entity'}.</p>`}
    ${place.query.as === 'list' ? html`<${List} nodes=${nodes} edges=${edges} ...${walks} />`
      : html`<div class="graph"><${Picture} nodes=${[...nodes.values()]} edges=${edges} root=${root} chosen=${node?.id} choose=${choose} walk=${walk} />
        <${Chosen} node=${node} edges=${edges} nodes=${nodes} ...${walks} /></div>`}
    <p><a href=${view(`/entity/${encodeURIComponent(root)}`, clocks(place))}>Its values</a><${InBrowser} id=${root} /></p>`;
}

/** What the picture does not show. @param {{answers: Related[], place: Place}} props */
function LeftOut({ answers, place }) {
  const size = Number(place.query.limit ?? SIZES[0]);
  const next = SIZES.find((each) => each > size);
  const names = new Map(answers.flatMap((each) => [each, ...(each.entities ?? [])]).map((each) => [each.entity_id, each.canonical_name]));
  const cut = answers.flatMap((each) => (each.left_out ? [{ ...each, left: each.left_out }] : []));
  const hubs = [...new Set(answers.flatMap((each) => each.hubs))];
  if (!cut.length && !hubs.length) return html`<p class="soft">Everything that fits is shown.</p>`;
  return html`<div class="left-out">${cut.map((each) => html`<p key=${each.entity_id}><b>${each.left.at_least ? 'At least ' : ''}${many(each.left.entities, 'more entity').replace('entitys', 'entities')}</b> around <bdi>${(each.canonical_name || each.entity_id).slice(0, 100)}</bdi>${' '}
      ${each.left.entities === 1 ? 'is' : 'are'} left out, of ${count(each.total)}, with ${many(each.left.relationships, 'relationship')}.</p>`)}
    ${hubs.length > 0 && html`<p>Too many relationships to walk through: ${hubs.slice(0, 8).map((id, index) => html`${index ? ', ' : ''}<${Entity} id=${id} name=${names.get(id)} />`)}${hubs.length > 8 ? ` and ${hubs.length - 8} more` : ''}. Walk on from one to see what is around it.</p>`}
    ${cut.length > 0 && html`<p>${next && html`<a href=${view(place.path, { ...place.query, limit: next })}>Show up to ${next} around each</a>, or choose`}${next ? '' : 'Choose'} a relationship above.</p>`}</div>`;
}

/** The entity that is chosen in the picture. @param {any} props */
function Chosen({ node, edges, nodes, walk, root, walked, place }) {
  const around = edges.filter((/** @type {Edge} */ each) => each.source === node.id || each.target === node.id);
  return html`<aside class="panel" aria-label="The chosen entity"><div role="status"><h2><${Entity} id=${node.id} name=${node.name} query=${clocks(place)} /></h2><p><${Type} type=${node.type} /> <span class="soft">${many(around.length, 'relationship')} shown</span></p></div>
    <${Walks} node=${node} walk=${walk} root=${root} walked=${walked} place=${place} />
    <ul class="plain">${around.slice(0, SENTENCES).map((/** @type {Edge} */ each) => html`<li key=${each.key}><${Sentence} edge=${each} nodes=${nodes} place=${place} /></li>`)}</ul>
    ${around.length > SENTENCES && html`<p class="soft">The first ${SENTENCES} of ${count(around.length)}. The list has all.</p>`}</aside>`;
}

/** @param {any} props */
function Walks({ node, walk, root, walked, place }) {
  if (node.id === root) return html`<p class="soft">The walk begins here.</p>`;
  const { walked: _, ...query } = place.query;
  return html`<p class="walks">${walked.includes(node.id) ? html`<span class="soft">Walked on from here.</span>` : html`<button class="quiet" onClick=${() => walk(node.id)} aria-label=${`Walk on from ${node.name.slice(0, 100)}`}>Walk on</button>`}
    <a href=${view(`/graph/${encodeURIComponent(node.id)}`, query)} aria-label=${`Begin here, at ${node.name.slice(0, 100)}`}>Begin here</a></p>`;
}

/** @param {{edge: Edge, nodes: Map<string, Node>, place: Place}} props */
function Sentence({ edge, nodes, place }) {
  const end = (/** @type {string} */ id) => html`<${Entity} id=${id} name=${nodes.get(id)?.name} query=${clocks(place)} />`;
  return html`${end(edge.source)} <b>${words(edge.type)}</b> ${end(edge.target)}<${Details} snapshot=${edge.snapshot} />`;
}

/** The same as the picture, for whom a list is easier. @param {any} props */
export function List({ nodes, edges, place, ...walks }) {
  const [shown, show] = useState(100);
  /** @type {Map<string, Edge[]>} */
  const around = new Map();
  for (const each of edges) for (const end of [each.source, each.target]) around.set(end, [...(around.get(end) ?? []), each]);
  const all = [...nodes.values()];
  return html`<ul class="rows">${all.slice(0, shown).map((node) => html`<li key=${node.id}><div><${Mark} type=${node.type} /> <${Entity} id=${node.id} name=${node.name} type=${node.type} query=${clocks(place)} />
      <ul class="values">${(around.get(node.id) ?? []).slice(0, 20).map((/** @type {Edge} */ each) => html`<li key=${each.key}><${Sentence} edge=${each} nodes=${nodes} place=${place} /></li>`)}</ul>
      ${(around.get(node.id)?.length ?? 0) > 20 && html`<span class="soft">and ${count((around.get(node.id)?.length ?? 0) - 20)} more relationships, at their other ends in this list</span>`}</div>
      <${Walks} node=${node} place=${place} ...${walks} /></li>`)}</ul>
    ${all.length > shown && html`<button onClick=${() => show(all.length)}>Show all ${count(all.length)} entities</button>`}`;
}

/** @param {Place} place */
const clocks = ({ query: { at, at_ingested: ingested } }) => ({ at, at_ingested: ingested });
