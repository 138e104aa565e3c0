// What the page uses of preact.js, for the check of types alone. Views are functions of their properties.
type State<T> = [T, (next: any) => void];
export function html(strings: TemplateStringsArray, ...values: any[]): any;
export function render(view: any, into: HTMLElement): void;
export function useState<T>(first: T): State<T>;
export function useEffect(run: () => any, on?: any[]): void;
export function useRef<T>(first: T): { current: T };
export function useErrorBoundary(): [any, () => void];
