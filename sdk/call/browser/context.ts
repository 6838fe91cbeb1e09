import { GESTURES, type PageAudioContext, type PageNode, type PageStream, page } from './page.ts';

/**
 * Starts a context, now or at the next gestures of the person: browsers refuse to start sound without one. A context of a
 * machine without a sound output may never start, so nothing that is sent may depend on it.
 *
 * @returns stops trying.
 */
export function startOnGesture(context: PageAudioContext): () => void {
  const { document } = page();
  const stop = (): void => {
    for (const gesture of GESTURES) document.removeEventListener(gesture, start);
  };
  const start = (): void => {
    if (context.state === 'running') stop();
    else context.resume().catch(() => {});
  };
  for (const gesture of GESTURES) document.addEventListener(gesture, start);
  start();
  return stop;
}

/** A stream in a context's graph; null where the browser cannot join the two, for instance because of their rates. */
export function sourceOf(context: PageAudioContext, stream: PageStream): PageNode | null {
  try {
    return context.createMediaStreamSource(stream);
  } catch {
    return null;
  }
}
