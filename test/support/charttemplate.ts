import { stringify } from 'yaml';

/**
 * Renders the templates of a Helm chart, as far as this project's chart uses the template language: `if`, `with`, `range`, `define`,
 * pipelines, and the functions below. Anything else throws, so that a template cannot use what is not checked.
 *
 * @source https://pkg.go.dev/text/template and https://helm.sh/docs/chart_template_guide/function_list
 */
export function renderChart(files: ReadonlyMap<string, string>, values: object): Map<string, string> {
  const defined = new Map<string, readonly Node[]>();
  const parsed = [...files].map(([path, text]) => [path, parse(text, defined)] as const);
  const scope: Scope = { dot: values, root: values, names: new Map(), defined };
  return new Map(
    parsed.filter(([path]) => path.endsWith('.yaml')).map(([path, nodes]) => [path, rendered(nodes, scope)]),
  );
}

type Node =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'print'; readonly code: string }
  | { readonly is: 'block'; readonly code: string; readonly body: readonly Node[] };

interface Scope {
  readonly dot: unknown;
  readonly root: unknown;
  readonly names: ReadonlyMap<string, unknown>;
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

const ACTION = /\{\{(-?)\s*([\s\S]*?)\s*(-?)\}\}/g;

function parse(source: string, defined: Map<string, readonly Node[]>): readonly Node[] {
  const stack: { readonly code: string; readonly body: Node[] }[] = [{ code: '', body: [] }];
  const top = () => stack.at(-1)!;
  let at = 0;
  let isTrimmed = false;
  const text = (end: number, isTrimmedAfter: boolean): void => {
    let part = source.slice(at, end);
    if (isTrimmed) part = part.trimStart();
    if (isTrimmedAfter) part = part.trimEnd();
    if (part !== '') top().body.push({ is: 'text', text: part });
  };
  for (const { 0: whole, 1: before, 2: code = '', 3: after, index } of source.matchAll(ACTION)) {
    text(index, before === '-');
    at = index + whole.length;
    isTrimmed = after === '-';
    if (/^(?:if|with|range|define)\b/.test(code)) stack.push({ code, body: [] });
    else if (code === 'end') {
      const block = stack.pop()!;
      const name = /^define "([^"]+)"$/.exec(block.code)?.[1];
      if (name !== undefined) defined.set(name, block.body);
      else top().body.push({ is: 'block', ...block });
    } else top().body.push({ is: 'print', code });
  }
  text(source.length, false);
  if (stack.length !== 1) throw new Error(`A block has no end: ${top().code}`);
  return top().body;
}

const rendered = (nodes: readonly Node[], scope: Scope): string =>
  nodes
    .map((node) => {
      if (node.is === 'text') return node.text;
      if (node.is === 'print') return shown(evaluated(node.code, scope));
      return block(node.code, node.body, scope);
    })
    .join('');

const shown = (value: unknown): string => (value === null || value === undefined ? '' : String(value));

/** As Go's templates see it: empty texts, lists and maps, zero and nil are false. */
const isTrue = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);

function block(code: string, body: readonly Node[], scope: Scope): string {
  const [, kind, rest = ''] = /^(if|with|range)\s+([\s\S]+)$/.exec(code) ?? [];
  if (kind === 'range') {
    const [, key, value, list] = /^(\$\w+), (\$\w+) := (.+)$/.exec(rest) ?? [];
    if (key === undefined || value === undefined || list === undefined)
      throw new Error(`Unknown range: ${rest}`);
    return Object.entries(evaluated(list, scope) as object)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, each]) => {
        const names = new Map([...scope.names, [key, name], [value, each]]);
        return rendered(body, { ...scope, dot: each, names });
      })
      .join('');
  }
  const value = evaluated(rest, scope);
  if (!isTrue(value)) return '';
  return rendered(body, kind === 'with' ? { ...scope, dot: value } : scope);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\(|\)|\||[^\s()|]+/g;

/** The value of a pipeline: the value of each command is the last argument of the next one. */
function evaluated(code: string, scope: Scope): unknown {
  const tokens = code.match(TOKEN) ?? [];
  let at = 0;
  const pipeline = (): unknown => {
    let value = command([]);
    while (tokens[at] === '|') {
      at += 1;
      value = command([value]);
    }
    return value;
  };
  const command = (piped: readonly unknown[]): unknown => {
    const words: unknown[] = [];
    const first = tokens[at] ?? '';
    const isCall = /^[a-z]\w*$/i.test(first);
    if (isCall) at += 1;
    while (at < tokens.length && tokens[at] !== '|' && tokens[at] !== ')') words.push(operand());
    if (!isCall) return words[0];
    const run = FUNCTIONS[first];
    if (run === undefined) throw new Error(`Unknown function: ${first}`);
    return run([...words, ...piped], scope);
  };
  const operand = (): unknown => {
    const token = tokens[at] ?? '';
    at += 1;
    if (token === '(') {
      const value = pipeline();
      at += 1;
      return value;
    }
    if (token.startsWith('"')) return JSON.parse(token);
    if (/^\d+$/.test(token)) return Number(token);
    const [, name = '', path = ''] = /^(\$\w*)?((?:\.\w+)*|\.)$/.exec(token) ?? [];
    if (name === '' && path === '') throw new Error(`Unknown operand: ${token}`);
    const start = name === '' ? scope.dot : name === '$' ? scope.root : scope.names.get(name);
    const keys = path.split('.').filter((key) => key !== '');
    return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], start);
  };
  return pipeline();
}

const FUNCTIONS: Readonly<Record<string, (given: readonly unknown[], scope: Scope) => unknown>> = {
  include: ([name, dot], scope) => {
    const nodes = scope.defined.get(String(name));
    if (nodes === undefined) throw new Error(`Unknown template: ${name}`);
    return rendered(nodes, { ...scope, dot });
  },
  nindent: ([width, text]) => {
    const space = ' '.repeat(Number(width));
    return `\n${String(text)
      .split('\n')
      .map((line) => space + line)
      .join('\n')}`;
  },
  toYaml: ([value]) => stringify(value).trimEnd(),
  default: ([other, value]) => (isTrue(value) ? value : other),
  quote: ([value]) => JSON.stringify(shown(value)),
  int: ([value]) => Math.trunc(Number(value)),
  gt: ([one, other]) => Number(one) > Number(other),
};
