// Goal: what several settings mean together is decided in one place, so that no part that is made from them decides it again.
import { describe, expect, test } from 'vitest';
import {
  activitiesOf,
  baseUrlsOf,
  directoryKind,
  hasExposedLinks,
  isE2eeRequired,
  isRegistrationOpen,
  s3Of,
  servesWeb,
  sessionsMaxOf,
  shardNameOf,
  stripeOf,
  voiceWorkersOf,
  withFreePorts,
} from '../../config/choices.ts';
import { type Config, DEFAULTS } from '../../config/config.ts';

const settings = (given: Partial<Config> = {}): Config => ({ ...DEFAULTS, ...given });

describe('the settings', () => {
  test('bound the sessions to two for each socket', () => {
    expect(sessionsMaxOf(settings({ sockets_max: 50 }))).toBe(100);
  });

  test('require encryption of calls only when set and when the dated rule is in force', () => {
    const answers = [true, false].map((e2ee_required) =>
      [true, false].map((isInForce) => isE2eeRequired(settings({ e2ee_required }), isInForce)),
    );
    expect(answers).toEqual([
      [true, false],
      [false, false],
    ]);
  });

  test('forward media in the main thread from sources and with injected loss', () => {
    const workers = (isBuilt: boolean, losesPackets: boolean) =>
      voiceWorkersOf(settings({ voice_workers: 3 }), { isBuilt, losesPackets });
    expect([workers(true, false), workers(false, false), workers(true, true)]).toEqual([3, 0, 0]);
  });

  test.each([
    [{ voice: false, playground: false }, false],
    [{ voice: true, playground: false }, true],
    [{ voice: false, playground: true }, true],
  ])('%j answer %s to requests for the built pages', (given, expected) => {
    expect(servesWeb(settings(given))).toBe(expected);
  });

  test.each([
    ['auto', {}, true],
    ['auto', { public_url: 'https://chat.example.org' }, false],
    ['open', { public_url: 'https://chat.example.org' }, true],
    ['closed', {}, false],
  ] as const)('registration %s and %j answer %s to new accounts', (registration, given, expected) => {
    expect(isRegistrationOpen(settings({ registration, ...given }))).toBe(expected);
  });

  test.each([
    [{ journal: 'off' }, {}, 'none'],
    [{ journal: 'on' }, {}, 'solo'],
    [{ etcd_urls: 'http://etcd:2379', database_url: 'postgres://db/g' }, {}, 'etcd'],
    [{ etcd_urls: 'http://etcd:2379' }, { directory: {}, storage: {} }, 'given'],
  ] as const)('%j with %j choose the directory "%s"', (given, options, expected) => {
    expect(directoryKind(settings(given), options)).toBe(expected);
  });

  test('refuse shards that would have a database each', () => {
    expect(() => directoryKind(settings({ etcd_urls: 'http://etcd:2379' }), {})).toThrow(/share a database/);
  });

  test('free the ports of calls together with the main port, unless they are named', () => {
    expect(withFreePorts({ listen_port: 0, voice_port: 5 })).toEqual({
      ...{ listen_port: 0, voice_port: 5, voice_udp_port: 0, voice_webrtc_port: 0 },
    });
    expect(withFreePorts({ voice_port: 5 })).toEqual({ voice_port: 5 });
  });

  test('make the URLs of a server, with brackets around an IPv6 address', () => {
    expect(baseUrlsOf(settings({ listen_host: '::1' }), 3000)).toEqual({
      ...{ origin: 'http://[::1]:3000', gateway: 'ws://[::1]:3000' },
    });
    expect(baseUrlsOf(settings({ public_url: 'https://chat.example.org' }), 1).gateway).toBe(
      'wss://chat.example.org',
    );
  });

  test('name a shard in the characters that a directory takes', () => {
    expect(shardNameOf(settings({ link_port: 0 }), 'Host_1.example', 7)).toBe('host-1-example-7');
    expect(shardNameOf(settings({ shard_id: 'a' }), 'host', 7)).toBe('a');
  });

  test('serve payments, an object store and activities only when all of their settings are there', () => {
    expect(stripeOf(settings({ stripe_key: 'key' }))).toBeNull();
    expect(s3Of(settings({ s3_endpoint: 'https://s3.example.org' }))).toBeNull();
    expect(activitiesOf(settings())).toBeNull();
    const url = 'https://activities.example.org:8443';
    expect(activitiesOf(settings({ activities_url: url, activities_port: 0 }))?.port).toBe(8443);
  });

  test('expose links only without certificates and beyond this machine', () => {
    expect(hasExposedLinks(settings({ link_host: '0.0.0.0' }), false)).toBe(true);
    expect(hasExposedLinks(settings({ link_host: '0.0.0.0' }), true)).toBe(false);
    expect(hasExposedLinks(settings({ link_host: '127.0.0.1' }), false)).toBe(false);
  });
});
