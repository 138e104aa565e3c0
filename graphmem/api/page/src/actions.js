// What a person does to an entity on a view of its own: relate it, merge it with another, split it.
import { html, useEffect, useState } from '../vendor/preact.js';
import { get, isOffered, post, withQuery } from './api.js';
import { ChangeList, Entity, Json, Problem, SourceLink, Time, Type, Value, Waiting, Was, leaveReport, many, spelled, useLoad, useTitle, view, words, writer } from './parts.js';

/** @typedef {import('./parts.js').Place} Place */

const OBSERVATIONS = 200;

/** @param {any} entity */
const named = (entity) => spelled((entity.canonical_name || entity.entity_id).slice(0, 200));
/** @param {string} id @param {AbortSignal} signal */
const read = (id, signal) => post('/get_entity_snapshot', { entity_id: id, provenance: 'full' }, signal);

/** Go back to an entity, which says what was done and offers to take it back. @param {string} id @param {import('./parts.js').Done} done */
function leave(id, done) {
  leaveReport(done);
  location.hash = view(`/entity/${encodeURIComponent(id)}`);
}

/**
 * Choose an entity by its name.
 * @param {{label: string, not: string, chosen: any, choose: (entity: any) => void, type?: string}} props
 */
function Picker({ label, not, chosen, choose, type }) {
  const [text, write] = useState('');
  const [asked, ask] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => ask(text.trim()), 300);
    return () => clearTimeout(timer);
  }, [text]);
  const body = { search: asked, limit: 9, include_snapshots: false, ...(type && { entity_type: type }) };
  const found = useLoad(`${asked} ${type ?? ''}`, (signal) => (asked ? post('/entities/query', body, signal) : Promise.resolve(null)));
  if (chosen) {
    return html`<p>${label}: <${Entity} id=${chosen.entity_id} name=${chosen.canonical_name} type=${chosen.entity_type} />
      <button type="button" class="quiet" onClick=${() => choose(null)}>Choose another one</button></p>`;
  }
  const others = (found.data?.entities ?? []).filter((/** @type {any} */ each) => each.entity_id !== not);
  return html`<div class="picker"><label for="pick">${label}</label>
    <input id="pick" type="search" dir="auto" autocomplete="off" maxlength="500" placeholder="its name" value=${text} onInput=${(/** @type {any} */ event) => write(event.target.value)} />
    <div role="status">${found.error && html`<${Problem} error=${found.error} />`}
    ${asked && found.data && (others.length ? html`<ul class="plain" aria-label="Entities found">${others.map((/** @type {any} */ each) => html`<li key=${each.entity_id}><button type="button" class="quiet" onClick=${() => choose(each)}><bdi>${named(each)}</bdi></button> <${Type} type=${each.entity_type} /></li>`)}</ul>` : html`<p class="soft">No other entity fits. Try another part of the name.</p>`)}</div></div>`;
}

/** The heading, and the way back. @param {{entity: any, verb: string}} props */
function Head({ entity, verb }) {
  useTitle(`${verb} ${named(entity)}`);
  return html`<h1>${verb} <bdi>${named(entity)}</bdi></h1>
    <p><a href=${view(`/entity/${encodeURIComponent(entity.entity_id)}`)}>Back to the entity</a></p>`;
}

/** A preview by the service: what it answers to the same request as a dry run. @param {string} path @param {any} body null: not yet */
function usePreview(path, body) {
  return useLoad(JSON.stringify(body), (signal) => (body ? post(path, { ...body, dry_run: true }, signal) : Promise.resolve(null)));
}

/** The buttons of a preview. @param {{verb: string, preview: any, send: () => Promise<void>, children?: any}} props */
function Confirm({ verb, preview, send, children }) {
  const [state, set] = useState(/** @type {any} */ ({}));
  const go = () => {
    set({ busy: true });
    send().catch((error) => set({ error }));
  };
  return html`${state.error && html`<${Problem} error=${state.error} />`}
    <div class="buttons"><button class="strong" disabled=${!preview.data || preview.busy || state.busy} onClick=${go}>${verb}</button>${children}</div>`;
}

/** @param {{warnings: any[] | undefined}} props */
const Warnings = ({ warnings }) => (warnings ?? []).map((each) => html`<p class="warning" key=${each.message}>${each.message}</p>`);

/** @param {{id: string}} props */
export function Relate({ id }) {
  const loaded = useLoad(id, async (signal) => {
    const [entity, types] = await Promise.all([read(id, signal), get('/relationship_types?limit=500', signal)]);
    return { entity, types: types.relationship_types };
  });
  if (!loaded.data) return html`<h1>Relate</h1><${Waiting} loaded=${loaded} />`;
  return html`<${Head} entity=${loaded.data.entity} verb="Relate" /><${RelateForm} ...${loaded.data} />`;
}

/** @param {{entity: any, types: any[]}} props */
function RelateForm({ entity, types }) {
  const [other, choose] = useState(/** @type {any} */ (null));
  const [form, fill] = useState({ type: '', start: '', end: '', isTurned: false });
  const [body, ask] = useState(/** @type {any} */ (null));
  const preview = usePreview('/create_relationship', body);
  const set = (/** @type {any} */ change) => { fill({ ...form, ...change }); ask(null); };
  const put = (/** @type {string} */ name) => (/** @type {any} */ event) => set({ [name]: event.target.value });
  const type = form.type.trim().replace(/[\s-]+/g, '_').toUpperCase();
  const names = [...new Set(types.flatMap((each) => [each.relationship_type, each.inverse].filter(Boolean)))].sort();
  const about = types.find((each) => each.relationship_type === type);
  const [source, target] = form.isTurned ? [other, entity] : [entity, other];
  const look = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!other || !type) return;
    const metadata = { ...(form.start && { start_date: form.start }), ...(form.end && { end_date: form.end }) };
    ask({ relationship_type: type, source_entity_id: source.entity_id, target_entity_id: target.entity_id, metadata });
  };
  const send = async () => {
    const done = await post('/create_relationship', body);
    leave(entity.entity_id, { said: 'They are related.', transaction: done.transaction_id });
  };
  return html`<div class="panel">
    <${Picker} label="The other entity" not=${entity.entity_id} chosen=${other} choose=${(/** @type {any} */ each) => { choose(each); ask(null); }} />
    <form onSubmit=${look}><div class="filters">
      <label>What relates them <input list="types" size="28" required maxlength="200" value=${form.type} onInput=${put('type')} placeholder="works at, knows, part of …" /></label>
      <datalist id="types">${names.map((each) => html`<option key=${each} value=${words(each)} />`)}</datalist>
      <label>From <input type="date" value=${form.start} onInput=${put('start')} /></label>
      <label>Until <input type="date" value=${form.end} onInput=${put('end')} /></label></div>
    ${about?.description && html`<p class="soft">${about.description}</p>`}
    ${other && type && html`<p class="sentence"><bdi>${named(source)}</bdi> <b>${words(type)}</b> <bdi>${named(target)}</bdi>
      <button type="button" class="quiet" onClick=${() => set({ isTurned: !form.isTurned })}>The other way round</button></p>`}
    ${!body && html`<div class="buttons"><button class="strong" disabled=${!other || !type}>Preview</button></div>`}</form>
    ${preview.error && html`<${Problem} error=${preview.error} />`}
    ${body && preview.data && html`<div class="preview" role="status"><${Related} answer=${preview.data} ends=${[entity, other]} /></div><${Confirm} verb="Relate" preview=${preview} send=${send} />`}
  </div><${Json} answers=${{ [`POST /create_relationship ${JSON.stringify({ ...body, dry_run: true })}`]: preview.data }} />`;
}

/** What a relationship would be. @param {{answer: any, ends: any[]}} props */
function Related({ answer, ends }) {
  const [source, target] = [answer.source_entity_id, answer.target_entity_id].map((id) => ends.find((each) => each.entity_id === id));
  const details = Object.entries(answer.snapshot);
  const isKnown = answer.version > 1;
  return html`<p>${isKnown ? 'This relationship is known already. It is then:' : 'This relationship is new:'}
    <b><bdi>${named(source)}</bdi> ${words(answer.relationship_type)} <bdi>${named(target)}</bdi></b>
    ${details.map(([name, value]) => html`, ${words(name)} <${Was} value=${value} />`)}</p>
    <${Warnings} warnings=${answer.store_warnings} />`;
}

/** @param {{place: Place, id: string}} props */
export function Merge({ place, id }) {
  const { with: other, name } = place.query;
  const loaded = useLoad(`${id} ${other}`, async (signal) => {
    const [target, source] = await Promise.all([read(id, signal), other ? read(other, signal) : null]);
    return { target, source };
  });
  const { target, source } = loaded.data ?? {};
  const body = source && target && !loaded.busy ? { source_entity_id: other, target_entity_id: id, expected_version: target.version, ...(name && { name_from: name }) } : null;
  const preview = usePreview('/entities/merge', body);
  if (!target) return html`<h1>Merge</h1><${Waiting} loaded=${loaded} />`;
  const go = (/** @type {Record<string, any>} */ query, at = id) => { location.hash = view(`/entity/${encodeURIComponent(at)}/merge`, query); };
  if (!source) {
    return html`<${Head} entity=${target} verb="Merge" /><div class="panel"><${Picker} label="The entity that is the same" not=${id} type=${target.entity_type} chosen=${null} choose=${(/** @type {any} */ each) => go({ with: each.entity_id })} /></div>`;
  }
  const send = async () => {
    const done = await post('/entities/merge', /** @type {any} */ (body));
    leave(id, { said: 'They are merged.', transaction: done.transaction_id });
  };
  const dismiss = async () => {
    await post('/entities/duplicates/dismiss', { entity_a: id, entity_b: other });
    leave(id, { said: 'They are two, and are proposed no more.', undo: () => post('/entities/duplicates/dismiss', { entity_a: id, entity_b: other, undo: true }) });
  };
  return html`<${Head} entity=${target} verb="Merge" />
    <p class="filters"><button onClick=${() => go({ with: id }, other)}>Let the other one survive</button>
      <label><input type="checkbox" checked=${name === 'source'} onChange=${(/** @type {any} */ event) => go({ with: other, name: event.target.checked ? 'source' : undefined })} /> Take the name of <bdi>${named(source)}</bdi></label>
      <a href=${view(`/entity/${encodeURIComponent(id)}/merge`)}>Choose another entity</a></p>
    ${preview.error ? html`<${Problem} error=${preview.error} />` : html`<${SideBySide} target=${target} source=${source} preview=${preview.busy ? null : preview.data} />`}
    <${Confirm} verb="Merge" preview=${preview} send=${send}><${Dismiss} dismiss=${dismiss} /></${Confirm}>
    <${Json} answers=${{ [`POST /entities/merge ${JSON.stringify({ ...body, dry_run: true })}`]: preview.data }} />`;
}

/** @param {{dismiss: () => Promise<void>}} props */
export function Dismiss({ dismiss }) {
  const [error, fail] = useState(/** @type {any} */ (null));
  if (!isOffered('POST /entities/duplicates/dismiss')) return null;
  return html`${error && html`<${Problem} error=${error} />`}<button class="quiet" onClick=${() => dismiss().catch(fail)}>They are not the same</button>`;
}

/** Both entities, and what the survivor would be. @param {{target: any, source: any, preview: any}} props */
function SideBySide({ target, source, preview }) {
  const changes = preview?.changes.find((/** @type {any} */ each) => each.entity_id === target.entity_id);
  const changed = new Map((changes?.fields ?? []).map((/** @type {any} */ each) => [each.field, each]));
  const fields = [...new Set([...Object.keys(target.snapshot), ...Object.keys(source.snapshot)])].sort();
  const row = (/** @type {string} */ field, /** @type {any} */ mine, /** @type {any} */ its, changedAs = field) => html`<tr key=${field}><th scope="row"><bdi>${words(field)}</bdi></th>
    <td data-label="survives"><${Value} value=${mine} /></td><td data-label="goes into it"><${Value} value=${its} /></td>
    <td data-label="afterwards" class=${changed.has(changedAs) ? 'changed' : ''}>${preview ? html`<${Value} value=${changed.has(changedAs) ? changed.get(changedAs).new_value : mine} />` : '…'}</td></tr>`;
  return html`<table class="compare"><caption class="soft">${preview ? `${many(preview.observations_moved, 'observation')} and ${many(preview.relationships_repointed, 'relationship')} of the second are then shown with the first. Each field shows what wins of both; what was said stays, and it can be undone.` : 'Loading what the survivor would be …'}</caption>
    <thead><tr><th scope="col">Field</th><th scope="col"><${Entity} id=${target.entity_id} name=${target.canonical_name} type=${target.entity_type} /> survives</th>
      <th scope="col"><${Entity} id=${source.entity_id} name=${source.canonical_name} type=${source.entity_type} /> goes into it</th><th scope="col">Afterwards</th></tr></thead>
    <tbody>${row('name that is shown', target.canonical_name, source.canonical_name, 'canonical_name')}${fields.map((field) => row(field, target.snapshot[field], source.snapshot[field]))}</tbody></table>`;
}

/** @param {{id: string}} props */
export function Split({ id }) {
  const loaded = useLoad(id, async (signal) => {
    const [entity, list, around] = await Promise.all([
      read(id, signal), get(withQuery('/observations', { entity_id: id, limit: OBSERVATIONS, include_total_count: true, max_characters: 500_000 }), signal),
      get(withQuery(`/entities/${encodeURIComponent(id)}/relationships`, { expand_entities: true, fields: 'name', limit: 100 }), signal),
    ]);
    return { entity, list, around };
  });
  if (!loaded.data) return html`<h1>Split</h1><${Waiting} loaded=${loaded} />`;
  return html`<${Head} entity=${loaded.data.entity} verb="Split" /><${SplitForm} ...${loaded.data} />`;
}

/** @param {{entity: any, list: any, around: any}} props */
function SplitForm({ entity, list, around }) {
  const [chosen, choose] = useState(/** @type {Set<string>} */ (new Set()));
  const [form, fill] = useState({ isNew: true, name: '', type: entity.entity_type, target: /** @type {any} */ (null) });
  const [body, ask] = useState(/** @type {any} */ (null));
  const preview = usePreview('/entities/split', body);
  const set = (/** @type {any} */ change) => { fill({ ...form, ...change }); ask(null); };
  const turn = (/** @type {string} */ key) => { choose(new Set(chosen.has(key) ? [...chosen].filter((each) => each !== key) : [...chosen, key])); ask(null); };
  const [observations, keys] = [list.observations, around.relationships].map((each, index) => each.map((/** @type {any} */ one) => (index ? one.relationship_key : one.id)).filter((/** @type {string} */ key) => chosen.has(key)));
  const isReady = observations.length > 0 && (form.isNew ? form.name.trim() && form.type.trim() : form.target);
  const look = (/** @type {Event} */ event) => {
    event.preventDefault();
    ask({
      source_entity_id: entity.entity_id, expected_version: entity.version, predicate: { observation_ids: observations }, relationships: keys,
      new_entity: form.isNew ? { entity_type: form.type.trim(), canonical_name: form.name.trim() } : { target_entity_id: form.target.entity_id },
    });
  };
  const send = async () => {
    const done = await post('/entities/split', body);
    leave(entity.entity_id, { said: `${many(done.observations_moved, 'observation')} went to another entity.`, transaction: done.transaction_id, other: done.new_entity_id });
  };
  const names = new Map(around.related_entities.map((/** @type {any} */ each) => [each.entity_id, named(each)]));
  const box = (/** @type {string} */ key, /** @type {any} */ children) => html`<li key=${key}><label class="box"><input type="checkbox" checked=${chosen.has(key)} onChange=${() => turn(key)} /> <span>${children}</span></label></li>`;
  return html`<form onSubmit=${look}><div class="panels two">
    <fieldset class="panel"><legend>Which observations are about another thing?</legend>
      ${list.next_cursor && html`<p class="soft">The newest ${OBSERVATIONS} of ${many(list.total, 'observation')}.</p>`}
      <ul class="plain">${list.observations.map((/** @type {any} */ each) => box(each.id, html`${Object.entries(each.fields).slice(0, 12).map(([name, value]) => html`<span class="pair" key=${name}><b>${words(name)}</b> <${Was} value=${value} /></span> `)}
        <span class="soft"><${Time} at=${each.observed_at} />, by <bdi>${writer(each.provenance)}</bdi>, <${SourceLink} observation=${each} /></span>`))}</ul>
      ${around.relationships.length > 0 && html`<p><b>Relationships that go with them</b></p><ul class="plain">${around.relationships.map((/** @type {any} */ each) => {
        const end = (/** @type {string} */ id) => html`<bdi>${id === entity.entity_id ? named(entity) : names.get(id) ?? id}</bdi>`;
        return box(each.relationship_key, html`${end(each.source_entity_id)} <b>${words(each.relationship_type)}</b> ${end(each.target_entity_id)}`);
      })}</ul>`}</fieldset>
    <div class="panel"><fieldset><legend>Where do they go?</legend>
      <label class="box"><input type="radio" name="where" checked=${form.isNew} onChange=${() => set({ isNew: true })} /> to a new entity</label>
      <label class="box"><input type="radio" name="where" checked=${!form.isNew} onChange=${() => set({ isNew: false })} /> to an entity that is there</label></fieldset>
      ${form.isNew ? html`<p><label>Its name <input dir="auto" maxlength="1000" value=${form.name} onInput=${(/** @type {any} */ event) => set({ name: event.target.value })} /></label></p>
        <p><label>Its type <input maxlength="200" value=${form.type} onInput=${(/** @type {any} */ event) => set({ type: event.target.value })} /></label></p>`
        : html`<${Picker} label="The entity" not=${entity.entity_id} chosen=${form.target} choose=${(/** @type {any} */ target) => set({ target })} />`}
      <div class="buttons"><button class=${body ? '' : 'strong'} disabled=${!isReady}>Preview</button></div>
      ${preview.error && html`<${Problem} error=${preview.error} />`}
      ${body && preview.data && html`<div role="status"><p>${many(preview.data.observations_moved, 'observation')} and ${many(preview.data.relationships_moved.length, 'relationship')} move, ${preview.data.observations_left} stay. It can be undone.</p>
        <${ChangeList} entities=${preview.data.entities} /></div>`}
      ${body && html`<${Confirm} verb="Split" preview=${preview} send=${send} />`}</div></div></form>
    <${Json} answers=${{ [`POST /entities/split ${JSON.stringify({ ...body, dry_run: true })}`]: preview.data }} />`;
}
