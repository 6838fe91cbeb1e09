import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';

/** Calls a method of a library by `Class.method`; what it answers is for the next calls. */
export type Did = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** Methods that were called, in order, and what failed. */
export class Sweep {
  readonly worked = new Set<string>();
  readonly failed: string[] = [];

  readonly did: Did = async (name, call) => {
    try {
      const answer = await call();
      this.worked.add(name);
      return answer;
    } catch (error) {
      this.failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  };
}

/** Runs the parts of a sweep; a part that fails ends there, and the others go on. */
export async function runParts(parts: readonly (() => Promise<void>)[]): Promise<void> {
  for (const part of parts) await part().catch(() => undefined);
}

/** Names of the methods of a class, without those that the library keeps to itself. */
export function methodsOf(type: { readonly prototype: object }): string[] {
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(type.prototype));
  return descriptors
    .filter(
      ([name, { value }]) => typeof value === 'function' && name !== 'constructor' && !name.startsWith('_'),
    )
    .map(([name]) => name);
}

const PAGE = join(ROOT, 'docs/compatibility.md');
const beginOf = (library: string): string => `<!-- Made by the sweep of ${library}. -->`;
const END = '<!-- End of the methods. -->';

/** The table of methods as the page has it: one row for each class. */
export function tableOf(names: readonly string[], leftOut: Readonly<Record<string, string>>): string {
  const classes = [...new Set([...names, ...Object.keys(leftOut)].map((name) => name.split('.')[0]!))].sort();
  const methodsIn = (all: readonly string[], type: string) =>
    all.filter((name) => name.startsWith(`${type}.`)).map((name) => `\`${name.slice(type.length + 1)}\``);
  const rows = classes.map((type) => {
    const reasons = Object.entries(leftOut).filter(([name]) => name.startsWith(`${type}.`));
    const left = reasons.map(([name, why]) => `\`${name.slice(type.length + 1)}\`: ${why}`);
    return `| ${type} | ${methodsIn(names, type).join(', ') || '–'} | ${left.join('; ') || '–'} |`;
  });
  return ['| class | called, and works | not called |', '| --- | --- | --- |', ...rows].join('\n');
}

const page = (): string => readFileSync(PAGE, 'utf8');

/** The table of a library in the page. */
export const tableInPage = (library: string): string =>
  page().split(beginOf(library))[1]?.split(END, 1)[0]?.trim() ?? '';

/** Writes the table of a library into the page. */
export function writeTable(table: string, library: string): void {
  const text = page();
  const from = text.indexOf(beginOf(library)) + beginOf(library).length;
  const to = text.indexOf(END, from);
  if (from < beginOf(library).length || to < 0)
    throw new Error(`${PAGE} lacks the place for the methods of ${library}.`);
  writeFileSync(PAGE, `${text.slice(0, from)}\n\n${table}\n\n${text.slice(to)}`);
}
