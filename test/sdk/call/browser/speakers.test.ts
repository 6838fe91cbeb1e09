// Goal: each member is played as loud as was said, by one element, whatever volumes meet.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Speakers } from '../../../../sdk/call/browser/speakers.ts';
import { FakePage, FakeStream } from './page.ts';

let page: FakePage;
let speakers: Speakers;

beforeEach(() => {
  page = new FakePage();
  page.install();
  speakers = new Speakers(page.context());
});
afterEach(() => void vi.unstubAllGlobals());

/** How loud the element of a member plays; through an amplifier or not. */
function played(userId: string) {
  const element = page.elements.findLast(({ dataset, isRemoved }) => dataset.user === userId && !isRemoved);
  if (element === undefined) return null;
  const { srcObject, muted, volume } = element;
  return { from: (srcObject as FakeStream | null)?.tracks[0]?.name, muted, volume };
}

describe('a member', () => {
  test('is played as they are, softer by the element, and louder by an amplifier', () => {
    speakers.set('1', new FakeStream('remote'));
    expect(played('1')).toEqual({ from: 'remote', muted: false, volume: 1 });
    speakers.setGain('1', 0.25);
    expect(played('1')).toEqual({ from: 'remote', muted: false, volume: 0.25 });
    speakers.setGain('1', 2);
    expect(played('1')).toEqual({ from: 'made here', muted: false, volume: 1 });
    expect(page.nodes.some(({ gain }) => gain.value === 2)).toBe(true);
    expect(page.elements.at(-1)).toMatchObject({ muted: true, dataset: {} });
    speakers.setGain('1', 1);
    expect(played('1')).toEqual({ from: 'remote', muted: false, volume: 1 });
  });

  test('is muted at volume 0, also with another stream', () => {
    speakers.setGain('1', 0);
    speakers.set('1', new FakeStream('remote'));
    speakers.set('1', new FakeStream('another'));
    expect(played('1')).toEqual({ from: 'another', muted: true, volume: 0 });
    expect(page.elements[0]).toMatchObject({ isRemoved: true, srcObject: null });
  });

  test('is played no more after leaving', () => {
    speakers.set('1', new FakeStream('remote'));
    speakers.clear();
    expect([played('1'), speakers.levels().size]).toEqual([null, 0]);
  });
});

test('the volume of all multiplies with that of each', () => {
  speakers.set('1', new FakeStream('remote'));
  speakers.setGain('1', 0.5);
  speakers.setVolume(0.5);
  expect(played('1')?.volume).toBe(0.25);
  speakers.setVolume(2);
  expect(played('1')).toEqual({ from: 'remote', muted: false, volume: 1 });
});

test('deafening mutes every member, those who come later included', () => {
  speakers.set('1', new FakeStream('remote'));
  speakers.deafen(true);
  speakers.set('2', new FakeStream('remote'));
  expect([played('1')?.muted, played('2')?.muted]).toEqual([true, true]);
  speakers.deafen(false);
  expect([played('1')?.muted, played('2')?.muted]).toEqual([false, false]);
});

test('a device is for all, and loudness is measured', () => {
  speakers.set('1', new FakeStream('remote'));
  speakers.use('usb');
  speakers.set('2', new FakeStream('remote'));
  expect(page.elements.map(({ sink }) => sink)).toEqual(['usb', 'usb']);
  page.level = 0.5;
  expect(speakers.levels()).toEqual(
    new Map([
      ['1', 0.5],
      ['2', 0.5],
    ]),
  );
});
