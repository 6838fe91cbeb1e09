// Goal: what deploy/ contains is accepted by the programs it is for, and names metrics, settings and probes that exist.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isConfigKey } from '../../config/config.ts';
import { filesUnder, ROOT, read } from '../support/source.ts';

const MONITORING = join(ROOT, 'deploy/monitoring');

/** Whether a program is installed; says so when it is not. */
function has(program: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  if (!found) console.log(`Left out: ${program} is not installed.`);
  return found;
}

function runs(program: string, args: readonly string[], cwd = ROOT): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
}

describe.skipIf(!has('promtool'))('the alert rules (promtool)', () => {
  test('fire for their causes and are quiet otherwise', () =>
    runs('promtool', ['test', 'rules', 'alerts.test.yaml'], MONITORING));
  test('belong to a valid configuration', () =>
    runs('promtool', ['check', 'config', 'prometheus.yaml'], MONITORING));
});

describe.skipIf(!has('systemd-analyze'))('the systemd unit (systemd-analyze)', () => {
  test('is valid', () => runs('systemd-analyze', ['verify', 'deploy/systemd/guildhall.service']));
});

describe('alerts and dashboard', () => {
  const program = ['protocol', 'actors', 'services', 'compose', 'cli', 'transports', 'media']
    .flatMap((room) => filesUnder(room))
    .filter((path) => path.endsWith('.ts'))
    .map(read)
    .join('\n');
  const suffixless = (name: string): string => name.replace(/_(bucket|count|sum)$/, '');
  const named = (text: string): readonly string[] =>
    [...new Set(text.match(/\b(guildhall|process|nodejs)_[a-z_]+/g) ?? [])].map(suffixless);

  test.each(['deploy/monitoring/alerts.yaml', 'deploy/monitoring/grafana-dashboard.json'])(
    '%s names only metrics that exist',
    (path) => {
      const missing = named(read(path)).filter(
        (name) => !program.includes(`'${name}'`) && !program.includes(`${name}:`),
      );
      expect(missing).toEqual([]);
    },
  );

  test('docs/monitoring.md lists exactly the alerts, with their severity', () => {
    const { groups } = parse(read('deploy/monitoring/alerts.yaml')) as {
      groups: { rules: { alert: string; labels: { severity: string } }[] }[];
    };
    const rules = groups
      .flatMap((group) => group.rules)
      .map(({ alert, labels }) => `${alert} ${labels.severity}`);
    const rows = [...read('docs/monitoring.md').matchAll(/^\| (Guildhall\w+) \|.*\| (\w+) \|$/gm)];
    expect(rows.map(([, alert, severity]) => `${alert} ${severity}`).toSorted()).toEqual(rules.toSorted());
  });
});

describe('the Helm chart', () => {
  const files = filesUnder('deploy/helm');
  const text = files.map(read).join('\n');

  test('sets only settings that exist', () => {
    const settings = [...text.matchAll(/\bGUILDHALL_([A-Z_]+)\b/g)].map(([, name = '']) =>
      name.toLowerCase(),
    );
    expect(settings.length).toBeGreaterThan(5);
    expect([...new Set(settings)].filter((name) => !isConfigKey(name))).toEqual([]);
  });

  test('uses only values that values.yaml has', () => {
    const values = parse(read('deploy/helm/guildhall/values.yaml')) as Record<string, unknown>;
    const used = [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path = '']) => path);
    const valueAt = (path: string): unknown =>
      path
        .split('.')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], values);
    expect([...new Set(used)].filter((path) => valueAt(path) === undefined)).toEqual([]);
  });
});

describe('docs/deploy.md', () => {
  test('shows settings that exist, and files that exist', () => {
    const page = read('docs/deploy.md');
    const block = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(Object.keys(parse(block)).filter((key) => !isConfigKey(key))).toEqual([]);
    const named = [...page.matchAll(/`(deploy\/[^`\s]+)`/g)].map(([, path = '']) => path);
    const there = filesUnder('deploy');
    expect(named.filter((path) => !there.includes(path))).toEqual([]);
  });
});
