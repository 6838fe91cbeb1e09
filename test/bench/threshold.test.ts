// Goal: a threshold is read as it is meant, refused when it means nothing, and held against the right figure.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { missedThresholds, parseThreshold } from '../../bench/gateway/threshold.ts';
import { buildReport } from './report.builder.ts';

describe('a threshold', () => {
  test.each([
    ['p99<50ms', 'p99', '<', 50],
    ['p99.9 <= 1.5s', 'p99.9', '<=', 1500],
    ['max<800us', 'max', '<', 0.8],
    ['deliveries>=1000', 'deliveries', '>=', 1000],
    ['lost<=0', 'lost', '<=', 0],
    ['cpu<9.5us', 'cpu', '<', 9.5],
  ])('%s is understood', (text, metric, operator, bound) => {
    const threshold = parseThreshold(text);
    expect([threshold.metric, threshold.operator]).toEqual([metric, operator]);
    expect(threshold.bound).toBeCloseTo(bound, 9);
  });

  test.each([
    ['p99<50', /unit/],
    ['p98<5ms', /no threshold/],
    ['p99=5ms', /no threshold/],
    ['toString<5', /no threshold/],
    ['lost<5ms', /leave out/],
    ['p99<-5ms', /no threshold/],
    ['', /no threshold/],
  ])('%s is refused', (text, reason) => {
    expect(() => parseThreshold(text)).toThrow(reason);
  });

  test('is parsed or refused with a RangeError, whatever its text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(Number.isFinite(parseThreshold(text).bound)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});

describe('missed thresholds', () => {
  const report = buildReport({ p99: 20, lost: 1 });
  const missed = (...texts: string[]) =>
    missedThresholds(report, texts.map(parseThreshold)).map(({ text }) => text);

  test('are those that do not hold', () => {
    expect(missed('p99<20ms', 'p99<=20ms', 'p99>19ms', 'lost<=0', 'lost<2')).toEqual(['p99<20ms', 'lost<=0']);
  });

  test('include bounds on figures that the run does not have', () => {
    expect(missed('cpu<1000')).toEqual(['cpu<1000']);
  });
});
