// Goal: docs/operations.md, the image and the composed cluster name what there is: commands, settings, metrics, files and ports.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { publicProblems } from '../../cli/opening.ts';
import { type Config, DEFAULTS, isConfigKey, parseConfig } from '../../config/config.ts';
import { SECURITY_EVENTS } from '../../protocol/security.ts';
import { run } from '../cli/arrange.ts';
import { filesUnder, ROOT, read } from '../support/source.ts';

const page = read('docs/operations.md');
const quoted = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);

describe('the page', () => {
  test('names commands that there are, with options that they have', async () => {
    const commands = quoted.filter((text) => /^guildhall [a-z]/.test(text));
    expect(commands.length).toBeGreaterThan(6);
    for (const command of new Set(commands)) {
      const words = command
        .split(' ')
        .slice(1)
        .filter((word) => /^(--)?[a-z]/.test(word));
      const { exitCode, out } = await run([...words.filter((word) => !word.startsWith('--')), '--help']);
      expect([command, exitCode]).toEqual([command, 0]);
      for (const option of words.filter((word) => word.startsWith('--')))
        expect(out.join('\n')).toContain(option);
    }
  });

  test('names settings that there are', () => {
    const block = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    for (const key of Object.keys(parse(block))) expect(isConfigKey(key), key).toBe(true);
    const names = quoted.filter(
      (text) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(text) && !text.startsWith('guildhall_'),
    );
    const events = Object.entries(SECURITY_EVENTS).flatMap(([name, { fields }]) => [name, ...fields]);
    const others = ['partitions_unserved', 'epoch_lag_ms', 'pg_dump', 'invalid_requests', ...events];
    expect([...new Set(names)].filter((name) => !isConfigKey(name) && !others.includes(name))).toEqual([]);
  });

  test('lists every security event with its fields, as the code has it', () => {
    const [, section = ''] = /^## Security events$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(page) ?? [];
    const rows = [...section.matchAll(/^\| `(\w+)` \| (.*?) \| (.*?) \|$/gm)].map(
      ([, name, fields = '', about]) => [
        name,
        { fields: [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field), about },
      ],
    );
    expect(Object.fromEntries(rows)).toEqual(SECURITY_EVENTS);
    expect(rows).toHaveLength(Object.keys(SECURITY_EVENTS).length);
  });

  test('names metrics that there are', () => {
    const named = [...new Set(quoted.filter((text) => /^guildhall_/.test(text)))];
    const sources = filesUnder('.', /^(protocol|compose|cli|actors|transports)\/.*\.ts$/).map(read);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !sources.some((text) => text.includes(name)))).toEqual([]);
  });
});

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, object>>;
  readonly configs?: readonly { readonly source: string }[];
}

const compose = parse(read('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
};
const shards = Object.entries(compose.services).filter(([, { image }]) => image === 'guildhall');

/** Environment of the image, which the composed cluster builds on. */
const dockerfile = read('Dockerfile');
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/(GUILDHALL_[A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);

/** `${NAME:-else}` as it is without NAME, `${NAME:?why}` as something long enough. */
const filled = (text: string): string =>
  text.replaceAll(/\$\{\w+:(-|\?)([^}]*)\}/g, (_, kind, rest) => (kind === '-' ? rest : 'x'.repeat(32)));

function configOf(environment: Readonly<Record<string, string>>): Config {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...imageEnvironment, ...environment }))
    values[name.replace(/^GUILDHALL_/, '').toLowerCase()] = filled(value);
  return parseConfig([{ from: 'the environment', values, text: true }]);
}

describe('the composed cluster', () => {
  test('has three shards of one cluster, each with a name, a way to it and a journal of its own', () => {
    const configs = shards.map(([, { environment = {} }]) => configOf(environment));
    expect(shards.map(([name]) => name)).toEqual(['shard-0', 'shard-1', 'shard-2']);
    for (const [index, config] of configs.entries()) {
      const [name, { volumes = [] }] = shards[index] as [string, Service];
      expect(config).toMatchObject({ shard_id: name, link_address: `${name}:${config.link_port}` });
      expect(config.etcd_urls).toBe('http://etcd:2379');
      expect(config.database_url).toContain('@postgres/');
      const places = volumes.map((volume) => volume.split(':'));
      expect(places).toEqual([
        ['files', config.data_dir],
        [`journal-${index}`, config.journal_dir],
      ]);
      expect(publicProblems(config)).toEqual([]);
    }
  });

  test('refers to what it declares only', () => {
    for (const { volumes = [], depends_on: after = [], configs = [] } of Object.values(compose.services)) {
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
      for (const name of Array.isArray(after) ? after : Object.keys(after))
        expect(Object.keys(compose.services)).toContain(name);
      for (const { source } of configs) expect(Object.keys(compose.configs)).toContain(source);
    }
  });

  test('is balanced over all shards, as long as they are ready', () => {
    const content = compose.configs.balancer?.content ?? '';
    const servers = [...content.matchAll(/^ *server (\S+) (\S+)$/gm)].map(([, name, address]) => [
      name,
      address,
    ]);
    expect(servers).toEqual(shards.map(([name]) => [name, `${name}:${DEFAULTS.listen_port}`]));
    expect(content).toContain('option httpchk GET /readyz');
    expect(content).toContain(`check port ${DEFAULTS.admin_port} `);
  });
});

test('the program and `npm start` pass the same flags to Node', () => {
  const flags = [read('cli.ts'), read('package.json')].map(
    (text) => /--max-semi-space-size=\d+ --wasm-tiering-budget=\d+/.exec(text)?.[0],
  );
  expect(flags[0]).toBeDefined();
  expect(flags[1]).toBe(flags[0]);
});

describe('the image', () => {
  test('has a C library that the native server runs on, and runs as an unprivileged user', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(new Set(bases)).toEqual(new Set(['node:24-trixie-slim']));
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).toMatch(/^USER node$/m);
    expect(last).toMatch(/^HEALTHCHECK /m);
    expect(last).toMatch(/^CMD \["start"\]$/m);
    expect(last).not.toMatch(/TOKEN|SECRET|PASSWORD/);
  });

  test('copies what there is, or was just made', () => {
    const made = ['node_modules', 'dist', '.'];
    const copied = [...dockerfile.matchAll(/^COPY (.+)$/gm)].flatMap(([, rest = '']) =>
      rest
        .split(' ')
        .filter((word) => !word.startsWith('--'))
        .slice(0, -1),
    );
    const paths = copied.map((path) => path.replace(/^\/build\//, ''));
    expect(paths.filter((path) => !made.includes(path) && !existsSync(join(ROOT, path)))).toEqual([]);
    const packed = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
    for (const path of packed.files.filter((path) => !path.startsWith('!'))) expect(paths).toContain(path);
  });

  test('opens the ports that are the defaults', () => {
    const exposed = new Set(/^EXPOSE (.+)$/m.exec(dockerfile)?.[1]?.split(' '));
    const { listen_port, admin_port, voice_port, voice_udp_port, voice_webrtc_port } = DEFAULTS;
    const wanted = [
      listen_port,
      admin_port,
      `${voice_port}/tcp`,
      `${voice_udp_port}/udp`,
      `${voice_webrtc_port}/udp`,
    ];
    for (const port of wanted) expect(exposed).toContain(String(port));
  });
});
