import { GESTURES, type PageAudioContext, type PageNode, type PageStream, page } from './page.ts';

/**
 * Resumes an audio context now or at the next user gesture: browsers refuse to start audio without one. A context
 * on a machine without an audio output may never start, so sending must not depend on it.
 *
 * @returns a function that removes the listeners.
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

/**
 * Connects a stream to a context's graph; null where the browser cannot, for instance because their sample rates
 * differ.
 */
export function sourceOf(context: PageAudioContext, stream: PageStream): PageNode | null {
  try {
    return context.createMediaStreamSource(stream);
  } catch {
    return null;
  }
}
