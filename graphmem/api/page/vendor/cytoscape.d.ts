// What the page uses of cytoscape.js, for the check of types alone.
export default function cytoscape(options: any): any;
