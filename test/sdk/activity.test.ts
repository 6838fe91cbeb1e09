// Goal: a rich presence is checked field by field, and survives the way over the wire.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ACTIVITY_LIMITS,
  type Activity,
  activityFromWire,
  activityToWire,
  checkActivity,
} from '../../sdk/activity.ts';
import { ErrorType } from '../../sdk/enums.ts';
import { ClientError } from '../../sdk/result.ts';

const text = (limit: keyof typeof ACTIVITY_LIMITS) => {
  const [minLength, maxLength] = ACTIVITY_LIMITS[limit];
  return fc.string({ minLength, maxLength, unit: 'grapheme-ascii' });
};
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
const party = fc
  .tuple(
    text('party'),
    fc.integer({ min: 1, max: 50 }),
    fc.integer({ min: 0, max: 50 }),
    fc.constantFrom(0, 1),
  )
  .map(([id, currentSize, more, privacy]) => ({ id, currentSize, maxSize: currentSize + more, privacy }));
const full = fc.record({
  name: text('name'),
  type: fc.constantFrom(0, 1, 2, 3, 4, 5, 6),
  statusDisplayType: maybe(fc.constantFrom(0, 1, 2)),
  state: maybe(text('state')),
  stateUrl: maybe(text('url')),
  details: maybe(text('details')),
  detailsUrl: maybe(text('url')),
  applicationId: fc.constant('5001'),
  assets: maybe(
    fc.record(
      {
        largeImage: text('image'),
        largeText: text('text'),
        largeUrl: text('url'),
        smallImage: text('image'),
        smallText: text('text'),
        smallUrl: text('url'),
        inviteCoverImage: text('image'),
      },
      { requiredKeys: [] },
    ),
  ),
  timestamps: maybe(fc.record({ start: time, end: time }, { requiredKeys: [] })),
  party,
  secrets: maybe(fc.record({ join: text('secret') })),
  buttons: maybe(
    fc.array(fc.record({ label: text('label'), url: fc.webUrl() }), { minLength: 1, maxLength: 2 }),
  ),
  supportedPlatforms: maybe(fc.integer({ min: 1, max: 255 })),
}) as fc.Arbitrary<Activity>;

const undefinedLess = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('a valid activity is accepted, and survives a round trip over the wire format', () => {
  fc.assert(
    fc.property(full, (activity) => {
      checkActivity(activity);
      const wire = activityToWire(activity, { applicationId: '1', name: 'Game' });
      expect(undefinedLess(activityFromWire(wire))).toEqual(undefinedLess(activity));
    }),
  );
});

test('any presence can be parsed without an exception', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom('name', 'type', 'party', 'assets', 'buttons', 'metadata'),
        fc.jsonValue(),
      ),
      (d) => {
        const activity = activityFromWire(d);
        expect(typeof activity.name).toBe('string');
      },
    ),
  );
});

test('absent fields default to those of the game', () => {
  expect(activityToWire({ state: 'In a duel' }, { applicationId: '5001', name: 'Duel' })).toEqual({
    name: 'Duel',
    type: 0,
    state: 'In a duel',
    application_id: '5001',
  });
});

const button = { label: 'Go', url: 'https://example.com' };
const size = { id: 'p1', currentSize: 1, maxSize: 4 };
describe('a limit', () => {
  test.each<[string, Activity]>([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(129) }],
    ['state', { state: 'x' }],
    ['details', { details: 'x'.repeat(129) }],
    ['stateUrl', { stateUrl: `https://${'x'.repeat(256)}` }],
    ['detailsUrl', { detailsUrl: 'x' }],
    ['assets.largeImage', { assets: { largeImage: 'x'.repeat(301) } }],
    ['assets.smallText', { assets: { smallText: 'x' } }],
    ['party.id', { party: { ...size, id: 'x' } }],
    ['party.currentSize', { party: { ...size, currentSize: 0 } }],
    ['party.currentSize', { party: { ...size, currentSize: 5 } }],
    ['party.maxSize', { party: { ...size, maxSize: -1 } }],
    ['secrets.join', { party: size, secrets: { join: 'x'.repeat(129) } }],
    ['secrets.join', { secrets: { join: 'secret' } }],
    ['buttons', { buttons: [button, button, button] }],
    ['buttons.label', { buttons: [{ ...button, label: 'x'.repeat(33) }] }],
    ['buttons.url', { buttons: [{ ...button, url: 'nowhere' }] }],
    ['supportedPlatforms', { supportedPlatforms: 256 }],
    ['timestamps', { timestamps: { start: -1 } }],
    ['type', { type: 9 as 0 }],
  ])('is named in the error when it is broken: %s', (field, activity) => {
    let error: unknown;
    try {
      checkActivity(activity);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ClientError);
    expect((error as ClientError).type).toBe(ErrorType.ValidationError);
    expect((error as ClientError).message.startsWith(field)).toBe(true);
  });
});
