// Goal: a page signs people in by a window of its own, and takes a window that hands over its answer for no closed one.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { browserHost } from '../../sdk/browser.ts';

const popup = { closed: false, location: { href: '' }, close: () => {} };

beforeEach(() => {
  vi.useFakeTimers();
  popup.closed = false;
  vi.stubGlobal('location', { href: 'http://game.test/play', origin: 'http://game.test' });
  vi.stubGlobal('open', () => popup);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('the window of a sign-in', () => {
  test('is given up as closed only when its answer has had two seconds to arrive', async () => {
    const gone = vi.fn();
    const place = await browserHost().awaitRedirect(() => true, gone, null);
    await vi.advanceTimersByTimeAsync(5_000);
    popup.closed = true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(gone).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(gone).toHaveBeenCalledTimes(1);
    place.close();
  });
});
