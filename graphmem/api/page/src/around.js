// The neighbours of one entity in a circle around it. It needs no library, so a host of MCP Apps shows it as well.
import { html } from '../vendor/preact.js';
import { many, spelled, view, words } from './parts.js';
import { look } from './picture.js';

/** @typedef {import('./graph.js').Node} Node */
/** @typedef {import('./graph.js').Edge} Edge */

/** So many names fit around the circle: beyond, the list has them. */
const SHOWN = 60;
/** From here on names stand along their rays, so that they do not meet. */
const UPRIGHT = 12;
const [WIDTH, HEIGHT, RADIUS] = [760, 620, 170];

/** @param {{nodes: Map<string, Node>, edges: Edge[], root: string}} props */
export function Circle({ nodes, edges, root }) {
  const others = [...nodes.values()].filter((each) => each.id !== root).slice(0, SHOWN);
  const middle = nodes.get(root);
  if (!middle || !others.length) return null;
  const turn = (2 * Math.PI) / others.length;
  const places = new Map(others.map((each, index) => [each.id, { x: RADIUS * Math.sin(index * turn), y: -RADIUS * Math.cos(index * turn), angle: index * turn }]));
  places.set(root, { x: 0, y: 0, angle: 0 });
  const lines = edges.flatMap((each) => {
    const [from, to] = [places.get(each.source), places.get(each.target)];
    return from && to ? [html`<line key=${each.key} x1=${from.x} y1=${from.y} x2=${to.x} y2=${to.y}><title>${words(each.type)}</title></line>`] : [];
  });
  return html`<svg class="around-circle" viewBox=${`${-WIDTH / 2} ${-HEIGHT / 2} ${WIDTH} ${HEIGHT}`} role="group" aria-label=${`Picture: ${many(others.length, 'entity').replace('entitys', 'entities')} around ${middle.name}`}>
    ${lines}${[middle, ...others].map((each) => html`<${Point} key=${each.id} node=${each} place=${places.get(each.id)} isMiddle=${each.id === root} alongRay=${others.length > UPRIGHT} />`)}</svg>`;
}

/** @param {{node: Node, place: any, isMiddle: boolean, alongRay: boolean}} props */
function Point({ node, place: { x, y, angle }, isMiddle, alongRay }) {
  const { colour, shape } = look(node.type);
  const size = isMiddle ? 16 : 9;
  const isLeft = angle > Math.PI;
  const turned = alongRay && !isMiddle ? `rotate(${(angle * 180) / Math.PI + (isLeft ? 90 : -90)})` : '';
  const side = isLeft ? 'end' : 'start';
  const isPole = Math.abs(x) < 1 && !alongRay;
  const name = spelled(node.name.length > 26 ? `${node.name.slice(0, 25)}…` : node.name);
  const label = isMiddle || isPole ? { 'text-anchor': 'middle', y: y < 0 ? -16 : 30 } : { 'text-anchor': side, x: isLeft ? -14 : 14, y: 4 };
  return html`<a href=${view(`/${isMiddle ? 'entity' : 'graph'}/${encodeURIComponent(node.id)}`)} aria-label=${node.name.slice(0, 200)}><g transform=${`translate(${x} ${y}) ${turned}`}>
    <polygon fill=${colour} points=${shape.map((each) => each.map((one) => one * size).join(',')).join(' ')} /><text ...${label}>${name}</text></g></a>`;
}
