// Goal: a stranger has a bot answering in a chat within a minute of the first command, and sees the console and the documentation;
// CI keeps the screenshots of GUILDHALL_ARTIFACTS.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CHROMIUM } from '../support/browser.ts';
import { runCommand } from '../support/packed.ts';
import { ROOT } from '../support/root.ts';

const MINUTE_S = 60;
/** A picture of an empty page is smaller. */
const PICTURE_BYTES_MIN = 10_000;
const kept = process.env.GUILDHALL_ARTIFACTS;
const folder =
  kept === undefined
    ? await mkdtemp(join(tmpdir(), 'guildhall-minutes-'))
    : resolve(ROOT, kept, 'firstminutes');

afterAll(async () => {
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
});

interface Step {
  readonly title: string;
  readonly seconds: number;
  readonly picture: string | null;
  readonly printed?: string;
}

describe.runIf(CHROMIUM !== null)('a stranger', () => {
  test('has a bot answering in the chat within a minute, and finds console, documentation and a project to start from', async () => {
    const script = join(ROOT, 'scripts/firstminutes.mjs');
    const { code, text } = await runCommand(process.execPath, [script, folder], ROOT);
    expect(code, text).toBe(0);
    const steps = JSON.parse(await readFile(join(folder, 'steps.json'), 'utf8')) as Step[];
    const bot = steps.find(({ title }) => title.includes('answers !ping'));
    expect(bot?.seconds).toBeLessThan(MINUTE_S);
    expect(steps.length).toBeGreaterThan(10);
    const page = await readFile(join(folder, 'index.html'), 'utf8');
    for (const { picture, printed } of steps) {
      if (picture === null) expect(printed?.length).toBeGreaterThan(100);
      else {
        expect(page).toContain(`<img src="${picture}"`);
        expect((await stat(join(folder, picture))).size).toBeGreaterThan(PICTURE_BYTES_MIN);
      }
    }
    // The report is kept by CI, so it must contain no code that signs in.
    expect(page).not.toMatch(/#code=\w/);
  });
});
