import { join } from 'node:path';
import { ROOT } from './root.ts';

/** The script of axe-core, for a page. */
export const AXE = join(ROOT, 'node_modules/axe-core/axe.min.js');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface WithAxe {
  readonly document: object;
  readonly axe: {
    run(context: object, options: object): Promise<{ readonly violations: readonly Violation[] }>;
  };
}

/** Violations that axe-core finds of WCAG 2.2 AA and its best practices. Runs in the page. */
export const audit = async (): Promise<string[]> => {
  const { axe, document } = globalThis as unknown as WithAxe;
  const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = await axe.run(document, { runOnly: { type: 'tag', values } });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
};
