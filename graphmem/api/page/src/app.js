// The views in a host of MCP apps: they show the answer of a tool, and ask the host to call the next one.
import { html, render, useEffect, useErrorBoundary, useState } from '../vendor/preact.js';
import { Circle } from './around.js';
import { List, together } from './graph.js';
import { Events } from './lists.js';
import { Entity, Problem, SourceLink, Time, Type, Value, count, many, ordered, spelled, words, writer } from './parts.js';

const VERSION = '2026-01-26';

let asked = 0;
/** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
const waiting = new Map();

/** @param {Record<string, unknown>} message */
const send = (message) => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** Ask the host. @param {string} method @param {Record<string, unknown>} params @returns {Promise<any>} */
function ask(method, params) {
  asked += 1;
  send({ id: asked, method, params });
  return new Promise((resolve, reject) => waiting.set(asked, { resolve, reject }));
}

/** What a tool answered: as an object, or as the JSON of its text. @param {any} result */
function answerOf(result) {
  const text = result?.content?.find((/** @type {any} */ each) => each.type === 'text')?.text ?? '';
  if (result?.structuredContent) return result.structuredContent;
  try {
    return JSON.parse(text);
  } catch {
    return { message: text || 'The tool answered nothing.' };
  }
}

function App() {
  const [answer, show] = useState(/** @type {any} */ (null));
  const [fault, forget] = useErrorBoundary();
  useEffect(() => {
    const heard = (/** @type {MessageEvent} */ event) => {
      if (event.source !== window.parent || event.data?.jsonrpc !== '2.0') return;
      const { id, method, params, result, error } = event.data;
      if (!method) {
        const each = waiting.get(id);
        waiting.delete(id);
        if (error) each?.reject(new Error(error.message));
        else each?.resolve(result);
      } else if (method === 'ui/notifications/tool-result') show(answerOf(params));
      else if (method === 'ui/notifications/tool-cancelled') show({ message: 'The tool was cancelled.' });
      else if (method === 'ui/notifications/host-context-changed') dress(params);
      else if (id !== undefined) send({ id, result: {} });
    };
    window.addEventListener('message', heard);
    const watch = new ResizeObserver(() => send({ method: 'ui/notifications/size-changed', params: { width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height) } }));
    if (window.parent === window) show({ message: 'This is the view of graphmem for hosts of MCP Apps: it shows what a tool answered. The page of a service is at its address.' });
    else {
      ask('ui/initialize', { appInfo: { name: 'graphmem', version: '1' }, appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] }, protocolVersion: VERSION })
        .then((host) => { dress(host?.hostContext); send({ method: 'ui/notifications/initialized', params: {} }); watch.observe(document.body); })
        .catch((error) => show({ message: error.message }));
    }
    return () => { watch.disconnect(); window.removeEventListener('message', heard); };
  }, []);
  const call = (/** @type {string} */ name, /** @type {Record<string, unknown>} */ input) => ask('tools/call', { name, arguments: input })
    .then((result) => { forget(); show(answerOf(result)); }, (error) => show({ message: `The host does not show it: ${error.message}` }));
  const followed = (/** @type {MouseEvent} */ event) => {
    const href = /** @type {HTMLElement} */ (event.target).closest('a')?.getAttribute('href');
    if (!href) return;
    event.preventDefault();
    const [, view, id] = href.split('?')[0].split('/');
    if (!href.startsWith('#')) ask('ui/open-link', { url: href }).catch(() => undefined);
    else if (view === 'graph') call('retrieve_related_entities', { entity_id: decodeURIComponent(id) });
    else if (view === 'entity') call('retrieve_entity_snapshot', { entity_id: decodeURIComponent(id) });
  };
  return html`<main onClick=${followed}>${fault ? html`<${Problem} error=${fault} />` : html`<${Shown} answer=${answer} call=${call} />`}</main>`;
}

/** @param {any} context of the host */
const dress = (context) => { if (context?.theme) document.documentElement.dataset.theme = context.theme; };

/** @param {{answer: any, call: (tool: string, input: Record<string, unknown>) => void}} props */
function Shown({ answer, call }) {
  if (!answer) return html`<p class="waiting" role="status">Waiting for the answer of the tool …</p>`;
  if (answer.snapshot) return html`<${Snapshot} entity=${answer} />`;
  if (answer.relationships && answer.entities) return html`<${Around} answer=${answer} call=${call} />`;
  if (answer.events) return html`<h1>Timeline</h1><${Events} list=${answer} place=${{ path: '/timeline', query: {} }} />`;
  if (answer.message) return html`<div class="problem" role="alert"><p dir="auto">${String(answer.message)}</p>${answer.trace_id && html`<p class="soft">Trace id: <code>${answer.trace_id}</code></p>`}</div>`;
  return html`<${Value} value=${answer} />`;
}

/** @param {{entity: any}} props */
function Snapshot({ entity }) {
  const set = entity.provenance_observations ?? {};
  return html`<div class="head"><h1><bdi>${spelled((entity.canonical_name || entity.entity_id).slice(0, 500))}</bdi></h1> <${Type} type=${entity.entity_type} />
      <a class="end" href=${`#/graph/${encodeURIComponent(entity.entity_id)}`}>What is around it</a></div>
    <p class="soft">${entity.at && html`As it was <${Time} at=${entity.at} />. `}${many(entity.observation_count ?? 0, 'observation')}, last observed <${Time} at=${entity.last_observation_at} /></p>
    <h2>What is known</h2><div class="fields">${ordered(Object.keys(entity.snapshot)).map((name) => {
      const value = entity.snapshot[name];
      const by = set[[entity.provenance?.[name]].flat()[0]];
      return html`<div class="field" key=${name}><h3><bdi>${words(name)}</bdi></h3><div class="what"><${Value} value=${value} /></div>
        <p class="from soft">${by && html`since <${Time} at=${by.observed_at} />, by <bdi>${writer(by.provenance)}</bdi>, <${SourceLink} observation=${by} field=${name} />`}</p></div>`;
    })}</div>`;
}

/** @param {{answer: any, call: (tool: string, input: Record<string, unknown>) => void}} props */
function Around({ answer, call }) {
  const { nodes, edges } = together([answer], []);
  const walk = (/** @type {string} */ id) => call('retrieve_related_entities', { entity_id: id });
  return html`<h1>Around <${Entity} id=${answer.entity_id} name=${answer.canonical_name} /></h1>
    ${answer.left_out && html`<p class="left-out">${count(answer.left_out.entities)} of ${count(answer.total)} entities are left out.</p>`}
    <${Circle} nodes=${nodes} edges=${edges} root=${answer.entity_id} />
    <${List} nodes=${nodes} edges=${edges} place=${{ path: '/graph', query: {} }} walk=${walk} root=${answer.entity_id} walked=${[]} />`;
}

render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
