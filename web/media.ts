import type { FromMedia, ToMedia } from './media.messages.ts';

/** The worker that has the keys, as the page talks to it. */
export interface MediaWorker {
  readonly worker: Worker;
  tell(message: ToMedia): void;
  /** Who hears it from now on. */
  listen(listener: (message: FromMedia) => void): void;
}

/**
 * Starts the worker, and waits until it can encrypt.
 *
 * @throws Error with a sentence for the person, when this browser or this connection cannot.
 */
export async function startMedia(): Promise<MediaWorker> {
  if (!window.isSecureContext)
    throw new Error('Voice needs https, or this machine itself: browsers allow it nowhere else.');
  if (!window.crossOriginIsolated)
    throw new Error('A proxy has removed the headers that isolate this page (COOP and COEP).');
  if (typeof RTCRtpScriptTransform === 'undefined')
    throw new Error(
      'This browser cannot encrypt calls end to end: it lacks RTCRtpScriptTransform. A newer one may have it.',
    );
  const worker = new Worker(new URL('./media.worker.ts', import.meta.url), { type: 'module' });
  let listener: (message: FromMedia) => void = () => {};
  const loaded = new Promise<void>((resolve, reject) => {
    listener = (message) => {
      if (message.type === 'loaded') resolve();
      else if (message.type === 'failed')
        reject(new Error(`Encryption could not be loaded: ${message.reason}`));
    };
    worker.onerror = () => reject(new Error('Encryption could not be loaded.'));
  });
  worker.onmessage = ({ data }: MessageEvent<FromMedia>) => listener(data);
  await loaded;
  return {
    worker,
    tell: (message) => worker.postMessage(message),
    listen(next) {
      listener = next;
    },
  };
}
