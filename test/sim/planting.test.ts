// Goal: every planted bug still matches the one place that it changes; checked without a run of the bugs, which takes minutes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, read } from '../support/source.ts';
import { BUGS } from './planted/index.ts';

test('every planted bug matches exactly one place of its source file', () => {
  const misfits = BUGS.flatMap((patch) => {
    if (!('file' in patch)) return [];
    if (!existsSync(join(ROOT, patch.file))) return [`${patch.name}: ${patch.file} does not exist`];
    const places = read(patch.file).split(patch.from).length - 1;
    return places === 1 ? [] : [`${patch.name}: fits ${places} places of ${patch.file}`];
  });
  expect(misfits).toEqual([]);
});
