import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source } from '../support/source.ts';

const FILLED_LATER = new Set(['Map', 'Set', 'WeakMap', 'WeakSet']);

/** Why a module-level declaration can hold state; null when it cannot. */
function stateIn(declarator: Node): string | null {
  const init = declarator.init as Node | null;
  if (init?.type !== 'NewExpression') return null;
  const name = (init.callee as Node).name as string;
  const isEmpty = (init.arguments as Node[]).length === 0;
  return FILLED_LATER.has(name) && isEmpty ? `an empty ${name} is there to be filled` : null;
}

/** Declarations of a module that change after it is loaded. */
function moduleState({ path, program, lineAt }: Source): string[] {
  return (program.body as Node[]).flatMap((statement) => {
    const declaration = (statement.declaration as Node | null | undefined) ?? statement;
    if (declaration.type !== 'VariableDeclaration') return [];
    const where = `${path}:${lineAt(declaration.start)}`;
    if (declaration.kind !== 'const') return [`${where}: a module-level ${declaration.kind}`];
    return (declaration.declarations as Node[]).flatMap((each) => {
      const why = stateIn(each);
      return why ? [`${where}: ${why}; make it a field of the aggregate's state`] : [];
    });
  });
}

/** Modules of the pure rooms hold no state; `sources` are theirs. */
export function moduleStateRules(sources: readonly Source[]): void {
  describe('modules of the pure rooms', () => {
    test('hold no state that changes', () => {
      expect(sources.flatMap(moduleState)).toEqual([]);
    });

    test.each([
      ['let n = 0;', 1],
      ['export let n = 0;', 1],
      ['const seen = new WeakMap<object, string>();', 1],
      ['export const all = new Map();', 1],
      ["const known: ReadonlySet<string> = new Set(['a']);", 0],
      ['const f = () => { let n = 0; const all = new Map(); return [n, all]; };', 0],
    ])('that say %s are refused %i times', (text, count) => {
      expect(moduleState(parse('engine/sample.ts', text))).toHaveLength(count);
    });
  });
}
