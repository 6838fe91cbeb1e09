// Goal: load goes to this machine alone unless someone claims the host.
import { describe, expect, test } from 'vitest';
import { guardHosts } from '../../bench/wire/loopback.ts';

const guard = (...urls: string[]) =>
  guardHosts(
    urls.map((each) => new URL(each)),
    false,
  );

describe('the guard', () => {
  test.each([
    'ws://127.0.0.1:3000',
    'ws://127.9.8.7',
    'ws://127.1:80',
    'http://localhost:3000/api',
    'ws://api.localhost',
    'ws://[::1]:3000',
    'ws://[::ffff:127.0.0.1]',
    'ws://2130706433/',
  ])('lets %s pass', (url) => {
    expect(() => guard(url)).not.toThrow();
  });

  test.each([
    'ws://192.0.2.1',
    'wss://gateway.example.org',
    'ws://127.0.0.1.example.org',
    'ws://localhost.example.org',
    'ws://notlocalhost',
    'ws://0.0.0.0',
    'ws://[::]',
    'ws://[::ffff:192.0.2.1]',
    'ws://127.0.0.1@192.0.2.1/',
  ])('stops %s', (url) => {
    expect(() => guard(url)).toThrow(/not this machine/);
  });

  test('looks at every address of a run', () => {
    expect(() => guard('ws://127.0.0.1', 'http://192.0.2.1/api')).toThrow(/192\.0\.2\.1/);
  });

  test('yields to the owner', () => {
    expect(() => guardHosts([new URL('ws://192.0.2.1')], true)).not.toThrow();
  });
});
