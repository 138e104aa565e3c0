// The picture of a graph, drawn by Cytoscape.js, which is loaded when the first picture is.
import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { Problem, spelled, words } from './parts.js';

/** @typedef {import('./graph.js').Node} Node */
/** @typedef {import('./graph.js').Edge} Edge */

/** Each has a contrast of 3:1 at least to the panels of both themes. */
const COLOURS = ['#3f7fc1', '#2f8f5f', '#9166c4', '#c06a1c', '#cc4f4f', '#1c8c94', '#bb4f9a', '#877f1e', '#6f7b80'];
const LABELLED_EDGES = 40;
const LABELLED_NEAR = 15;
const ARRANGED_NODES = 150;
const LARGE_NAMES = 60;
const WIDENED = 1.7;
const STEPS = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });

/** @param {number} corners @param {number} turned in parts of a whole turn @returns {number[][]} */
const regular = (corners, turned = 0) => Array.from({ length: corners }, (_, index) => {
  const angle = 2 * Math.PI * (index / corners + turned) - Math.PI / 2;
  return [Math.cos(angle), Math.sin(angle)];
});
/** Points from -1 to 1, for the picture and the marks of the legend alike. */
const SHAPES = [regular(24), [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]], regular(4), regular(6), regular(3), regular(5), [[-1, -0.6], [1, -0.6], [1, 0.6], [-1, 0.6]], regular(8, 1 / 16), regular(3, 1 / 2)];

/** @typedef {{colour: string, shape: number[][]}} Look */
/** What each type looks like in this tab. @type {Map<string, Look>} */
const looks = new Map();

/** The colour and the shape of a type: by its name, and of no other type as long as a colour is free. @param {string} type */
export function look(type) {
  const known = looks.get(type);
  if (known) return known;
  let hash = 2_166_136_261;
  for (const each of type) hash = Math.imul(hash ^ (each.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  const taken = new Set([...looks.values()].map((each) => each.colour));
  while (taken.size < COLOURS.length && taken.has(COLOURS[hash % COLOURS.length])) hash += 1;
  const made = { colour: COLOURS[hash % COLOURS.length], shape: SHAPES[(hash >>> 8) % SHAPES.length] };
  looks.set(type, made);
  return made;
}

/** @param {{type: string}} props */
export function Mark({ type }) {
  const { colour, shape } = look(type);
  return html`<svg class="mark" viewBox="-1.1 -1.1 2.2 2.2" aria-hidden="true"><polygon fill=${colour} points=${shape.map((each) => each.join(',')).join(' ')} /></svg>`;
}

/** @param {string} text */
const short = (text) => spelled(text.length > 26 ? `${text.slice(0, 25)}…` : text);

/** @param {{nodes: Node[], edges: Edge[]}} graph */
function elements({ nodes, edges }) {
  return [
    ...nodes.map(({ id, name, type }) => ({ data: { id, label: short(name), colour: look(type).colour, points: look(type).shape.flat() } })),
    ...edges.map((each) => ({ data: { id: `edge ${each.key}`, label: words(each.type), source: each.source, target: each.target } })),
  ];
}

/** The style in the colours of the theme. @param {number} edges */
function style(edges) {
  const theme = getComputedStyle(document.documentElement);
  const [text, panel, soft, link] = ['--text', '--panel', '--soft', '--link'].map((name) => theme.getPropertyValue(name).trim());
  const label = { label: 'data(label)', color: text, 'font-family': 'system-ui, sans-serif', 'text-outline-color': panel, 'text-outline-width': 2 };
  return [
    { selector: 'node', style: { ...label, shape: 'polygon', 'shape-polygon-points': 'data(points)', 'background-color': 'data(colour)', width: 26, height: 26, 'font-size': 11, 'text-valign': 'bottom', 'min-zoomed-font-size': 7, 'text-margin-y': 4, 'overlay-opacity': 0 } },
    { selector: 'node.root', style: { width: 40, height: 40, 'font-size': 13, 'font-weight': 'bold' } },
    { selector: 'node.mute', style: { 'text-opacity': 0 } },
    { selector: 'edge', style: { width: 1.5, 'line-color': soft, 'target-arrow-color': soft, 'target-arrow-shape': 'triangle', 'arrow-scale': 0.9, 'curve-style': 'bezier', 'overlay-opacity': 0, ...(edges <= LABELLED_EDGES && { ...label, color: soft, 'font-size': 9, 'text-rotation': 'autorotate' }) } },
    { selector: 'edge.near', style: { width: 2, 'line-color': link, 'target-arrow-color': link } },
    { selector: 'edge.named', style: { ...label, 'font-size': 10, 'text-rotation': 'autorotate' } },
    { selector: 'node.chosen', style: { 'border-width': 4, 'border-color': link, 'font-weight': 'bold', 'z-index': 9 } },
  ];
}

/**
 * Put what is new beside what it is related to, then let all find their places.
 * @param {any} drawn @param {string} root
 */
function arrange(drawn, root) {
  const count = drawn.nodes().length;
  drawn.nodes().removeClass('root');
  drawn.getElementById(root).addClass('root');
  const isFresh = !drawn.scratch('arranged');
  // Forces between many take seconds: they stand like the seeds of a sunflower.
  const places = new Map(drawn.nodes().map((/** @type {any} */ node, /** @type {number} */ index) => [node.id(), { x: 60 * Math.sqrt(index) * Math.cos(2.4 * index), y: 60 * Math.sqrt(index) * Math.sin(2.4 * index) }]));
  const layout = count > ARRANGED_NODES
    ? { name: 'preset', positions: (/** @type {any} */ node) => places.get(node.id()) }
    : { name: 'cose', randomize: isFresh, nodeRepulsion: () => 25_000, idealEdgeLength: () => 80, nodeOverlap: 20, gravity: 0.8 };
  drawn.layout({ ...layout, animate: false }).run();
  // Names are wide: with more room beside each other fewer of them overlap, as far as the canvas is wide.
  const wider = WIDENED * Math.min(1, drawn.width() / drawn.height() / 1.3);
  drawn.nodes().forEach((/** @type {any} */ node) => node.position('x', wider * node.position('x')));
  drawn.fit(30);
  drawn.scratch('arranged', true);
  if (drawn.zoom() > 1.4) drawn.zoom(1.4).center();
  // Names stay legible as long as they are few; of many, zooming shows them.
  drawn.nodes().style('font-size', count > LARGE_NAMES ? 11 : Math.max(11, 10 / drawn.zoom()));
  showNames(drawn);
}

/** Show the names that have room, those of much related entities first: the others are shown when they are chosen. @param {any} drawn */
function showNames(drawn) {
  const boxed = (/** @type {any} */ node, /** @type {boolean} */ isName) => ({ id: node.id(), ...node.renderedBoundingBox({ includeNodes: !isName, includeEdges: false, includeLabels: isName, includeOverlays: false }) });
  const taken = drawn.nodes().map((/** @type {any} */ node) => {
    const { id, x1, x2, y1, y2 } = boxed(node, false);
    return { id, x1: x1 + (x2 - x1) / 4, x2: x2 - (x2 - x1) / 4, y1: y1 + (y2 - y1) / 4, y2: y2 - (y2 - y1) / 4 };
  });
  const weight = (/** @type {any} */ node) => (node.hasClass('chosen') || node.hasClass('root') ? 1e6 : 0) + node.degree();
  for (const node of drawn.nodes().toArray().sort((/** @type {any} */ a, /** @type {any} */ b) => weight(b) - weight(a))) {
    node.removeClass('mute');
    const box = boxed(node, true);
    const isFree = node.hasClass('chosen') || !taken.some((/** @type {any} */ each) => each.id !== box.id && box.x1 < each.x2 && box.x2 > each.x1 && box.y1 < each.y2 && box.y2 > each.y1);
    if (isFree) taken.push(box);
    else node.addClass('mute');
  }
}

/** Cytoscape adds a style sheet of one rule, which style.css has; the policy of the page would refuse it. */
function keepStyleOut() {
  const id = '__________cytoscape_stylesheet';
  if (document.getElementById(id)) return;
  const mark = document.createElement('meta');
  mark.id = id;
  document.head.append(mark);
}

/** Bring a drawing to what is to be seen. @param {any} drawn @param {any} wanted @param {string} root */
function renew(drawn, wanted, root) {
  const ids = new Set(wanted.map((/** @type {any} */ each) => each.data.id));
  const known = new Set(drawn.elements().map((/** @type {any} */ each) => each.id()));
  const fresh = wanted.filter((/** @type {any} */ each) => !known.has(each.data.id));
  const gone = drawn.elements().filter((/** @type {any} */ each) => !ids.has(each.id()));
  if (!fresh.length && !gone.length) return;
  gone.remove();
  const added = drawn.add(fresh);
  added.nodes().forEach((/** @type {any} */ node, /** @type {number} */ index) => {
    const near = node.neighborhood('node').difference(added)[0];
    if (near) node.position({ x: near.position('x') + 60 * Math.cos(index), y: near.position('y') + 60 * Math.sin(index) });
  });
  arrange(drawn, root);
}

/** The node that lies nearest in a direction. @param {any} drawn @param {string} from @param {[number, number]} step */
function beside(drawn, from, [x, y]) {
  const at = drawn.getElementById(from).position();
  let best = null;
  let least = Infinity;
  drawn.nodes().forEach((/** @type {any} */ node) => {
    const [right, down] = [node.position('x') - at.x, node.position('y') - at.y];
    const ahead = right * x + down * y;
    const away = ahead + 2 * Math.abs(right * y) + 2 * Math.abs(down * x);
    if (node.id() !== from && ahead > 1 && away < least) [best, least] = [node.id(), away];
  });
  return best;
}

/** @param {{nodes: Node[], edges: Edge[], root: string, chosen: string, choose: (id: string) => void, walk: (id: string) => void}} props */
export function Picture({ nodes, edges, root, chosen, choose, walk }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [drawn, draw] = useState(/** @type {any} */ (null));
  const [fault, fail] = useState(/** @type {any} */ (null));
  const acts = useRef({ choose, walk });
  acts.current = { choose, walk };
  useEffect(() => {
    /** @type {any} */
    let made = null;
    let isGone = false;
    import('../vendor/cytoscape.js').then(({ default: cytoscape }) => {
      if (isGone) return;
      keepStyleOut();
      made = cytoscape({ container: frame.current, minZoom: 0.05, maxZoom: 4, boxSelectionEnabled: false, autounselectify: true, style: style(edges.length) });
      made.on('tap', 'node', (/** @type {any} */ event) => acts.current.choose(event.target.id()));
      let resting = 0;
      made.on('zoom', () => { clearTimeout(resting); resting = window.setTimeout(() => !isGone && showNames(made), 120); });
      made.on('dbltap', 'node', (/** @type {any} */ event) => acts.current.walk(event.target.id()));
      draw(made);
    }).catch(fail);
    return () => { isGone = true; made?.destroy(); };
  }, []);
  useEffect(() => { if (drawn) renew(drawn, elements({ nodes, edges }), root); }, [drawn, JSON.stringify([nodes, edges, root])]);
  useEffect(() => {
    if (!drawn) return undefined;
    const paint = () => drawn.style(style(edges.length));
    const watch = new MutationObserver(paint);
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', paint);
    paint();
    return () => { watch.disconnect(); dark.removeEventListener('change', paint); };
  }, [drawn, edges.length > LABELLED_EDGES]);
  useEffect(() => {
    if (!drawn) return;
    drawn.elements().removeClass('chosen near named');
    const near = drawn.getElementById(chosen).addClass('chosen').connectedEdges();
    near.addClass(near.length > LABELLED_NEAR ? 'near' : 'near named');
    showNames(drawn);
  }, [drawn, chosen, edges, nodes]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!drawn || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = event.key === 'Home' ? root : STEPS[event.key] && beside(drawn, chosen, STEPS[event.key]);
    if (to) choose(to);
    else if (event.key === 'Enter') walk(chosen);
    else if (event.key === '+' || event.key === '-') drawn.zoom({ level: drawn.zoom() * (event.key === '+' ? 1.25 : 0.8), position: drawn.getElementById(chosen).position() });
    else if (event.key === '0') drawn.fit(30);
    else if (!STEPS[event.key]) return;
    event.preventDefault();
  };
  return html`<div class="drawing"><div class="canvas" role="application" tabindex="0" aria-label="Picture of the graph" aria-describedby="graph-keys" onKeyDown=${press}><div class="frame" ref=${frame}></div></div>
    ${fault && html`<${Problem} error=${fault} />`}
    <p class="soft" id="graph-keys">Click an entity to choose it, double-click it to walk on. Keys: arrows choose, Enter walks on, Home goes back to the beginning, + and − zoom, 0 shows all. The list has the same.</p></div>`;
}
