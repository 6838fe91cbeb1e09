// Goal: every setting is checked where it comes in, and what is wrong is said so that it can be put right.
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import {
  adminTokens,
  ConfigError,
  type ConfigKey,
  configSchema,
  DEFAULTS,
  parseConfig,
  SECTIONS,
  SETTINGS,
  shownConfig,
} from '../../config/config.ts';

const file = (values: Record<string, unknown>) => ({ from: 'guildhall.yaml', values });
const environment = (values: Record<string, string>) => ({
  from: 'the environment',
  values,
  text: true,
  spell: (key: string) => `GUILDHALL_${key.toUpperCase()}`,
});

function problemsOf(...layers: Parameters<typeof parseConfig>[0]): readonly string[] {
  try {
    parseConfig(layers);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('parseConfig', () => {
  test('returns the defaults without any settings', () => {
    expect(parseConfig([])).toEqual(DEFAULTS);
  });

  test('prefers later layers, and parses text by the type of the setting', () => {
    const config = parseConfig([
      file({ listen_port: 4000, rate_limits: true, data_dir: './data' }),
      environment({
        listen_port: '5000',
        rate_limits: 'false',
        data_dir: '',
        database_url: 'postgres://h/d',
      }),
    ]);
    expect(config).toMatchObject({
      listen_port: 5000,
      rate_limits: false,
      data_dir: null,
      database_url: 'postgres://h/d',
    });
  });

  test('reports a misspelt key, its source, and the likely correct key', () => {
    expect(problemsOf(file({ listen_prot: 1 }))).toEqual([
      'listen_prot in guildhall.yaml is not a setting. Did you mean listen_port?',
    ]);
    expect(problemsOf(environment({ heartbeat_interval: '5' }))).toEqual([
      'GUILDHALL_HEARTBEAT_INTERVAL in the environment is not a setting. Did you mean GUILDHALL_HEARTBEAT_INTERVAL_MS?',
    ]);
    expect(problemsOf(file({ qqqqqqqqqqqqq: 1 }))).toEqual([
      'qqqqqqqqqqqqq in guildhall.yaml is not a setting. See `guildhall config print`.',
    ]);
  });

  test('names key, place, value and expectation of every wrong value at once', () => {
    expect(
      problemsOf(file({ listen_port: '3000' }), environment({ metrics: 'maybe', log_level: 'loud' })),
    ).toEqual([
      'listen_port in guildhall.yaml is "3000"; it must be a whole number from 0 to 65535 (port).',
      'GUILDHALL_METRICS in the environment is "maybe"; it must be true or false.',
      'GUILDHALL_LOG_LEVEL in the environment is "loud"; it must be one of silent, fatal, error, warn, info, debug, trace.',
    ]);
  });

  test('never repeats a secret in an error', () => {
    const [problem] = problemsOf(file({ admin_token: 'hunter2' }));
    expect(problem).toContain('admin_token in guildhall.yaml is [secret]');
    expect(problem).not.toContain('hunter2');
  });

  test('refuses half an S3 store and uploads that could not arrive', () => {
    expect(problemsOf(file({ s3_bucket: 'files', s3_endpoint: 'https://s3.example.org' }))[0]).toContain(
      's3_access_key_id and s3_secret_access_key',
    );
    expect(problemsOf(file({ upload_bytes_max: 30 << 20 }))[0]).toContain('no such file could arrive');
  });

  test('does not read keys of the prototype as settings', () => {
    expect(problemsOf(file({ constructor: 1, toString: 2 }))).toHaveLength(2);
  });

  test('answers any layer with a config or a ConfigError', () => {
    const values = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom(...Object.keys(SETTINGS))),
      fc.oneof(fc.jsonValue(), fc.string()),
    );
    fc.assert(
      fc.property(values, fc.boolean(), (given, text) => {
        try {
          const config = parseConfig([{ from: 'here', values: given, text }]);
          expect(Compile(configSchema() as never).Check(config)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the table of settings', () => {
  const keys = Object.keys(SETTINGS) as ConfigKey[];

  test('holds defaults that satisfy their own schemas', () => {
    expect(Compile(configSchema() as never).Check(DEFAULTS)).toBe(true);
  });

  test('names every setting in one section and ends quantities with their unit', () => {
    const listed = Object.values(SECTIONS).flatMap((section) => Object.keys(section));
    expect(listed.toSorted()).toEqual(keys.toSorted());
    expect(new Set(listed).size).toBe(listed.length);
    for (const key of keys) {
      const { unit } = SETTINGS[key];
      if (unit === 'ms' || unit === 'bytes') expect(key, key).toMatch(/_ms$|_bytes_max$/);
    }
  });

  test('has a sentence about each', () => {
    for (const key of keys) expect(SETTINGS[key].doc, key).toMatch(/^[A-Z].*\.$/s);
  });
});

describe('admin_tokens', () => {
  test('are read as names with secrets, which may hold anything but commas and spaces', () => {
    const config = parseConfig([file({ admin_tokens: 'ci=0123456789=abcdef,anna-laptop=!"#$%&()*+-./:;<' })]);
    expect(adminTokens(config)).toEqual([
      { name: 'ci', secret: '0123456789=abcdef' },
      { name: 'anna-laptop', secret: '!"#$%&()*+-./:;<' },
    ]);
    expect(adminTokens({ admin_tokens: null })).toEqual([]);
  });

  test.each([
    ['a=short', 'it must be a list such as ci='],
    ['0123456789abcdef0', 'it must be a list such as ci='],
    ['a=0123456789abcdef,a=fedcba9876543210', 'The names in admin_tokens must differ'],
    ['a=0123456789abcdef,b=0123456789abcdef', 'The secrets in admin_tokens must differ'],
    ['admin_token=0123456789abcdef', 'The names in admin_tokens must differ'],
    ['a=an-admin-token-of-length', 'The secrets in admin_tokens must differ'],
  ])('are refused as "%s" without showing them', (list, problem) => {
    const given = { admin_token: 'an-admin-token-of-length', admin_tokens: list };
    const [said = '', ...more] = problemsOf(file(given));
    expect(more).toEqual([]);
    expect(said).toContain(problem);
    expect(said).not.toContain(list);
  });
});

describe('shownConfig', () => {
  test('masks secrets and the credentials of the database', () => {
    const config = parseConfig([
      file({
        admin_token: 'an-admin-token-of-length',
        admin_tokens: 'ci=a-token-of-machines, anna=a-token-of-anna-1',
        token_secret: 'x'.repeat(32),
        database_url: 'postgres://me:pa@ss@db.example.org:5432/guildhall?password=again',
      }),
    ]);
    const shown = JSON.stringify(shownConfig(config));
    for (const secret of ['an-admin-token', 'a-token-of', 'xxx', 'pa@ss', 'ss@', 'again', 'me:'])
      expect(shown).not.toContain(secret);
    expect(shown).toContain('db.example.org:5432/guildhall');
  });
});
