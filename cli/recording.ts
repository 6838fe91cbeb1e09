import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { messageOf } from '../protocol/thrown.ts';
import { createRecorder, type RunningRecorder } from '../transports/recording/recorder.ts';
import { CommandError, type World } from './world.ts';

/** A recording ends at this size. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes that may wait for the disk; a recording whose disk is slower ends. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

interface RecordingFile {
  readonly recorder: RunningRecorder;
  /** Writes the last line, and resolves when all is on disk. */
  close(): Promise<void>;
}

/** Opens a file for a recording, for its owner only. @throws CommandError when it exists or cannot be made. */
export async function openRecording({ cwd }: Pick<World, 'cwd'>, file: string): Promise<RecordingFile> {
  const stream = createWriteStream(resolve(cwd, file), { flags: 'wx', mode: 0o600 });
  await once(stream, 'open').catch((error: unknown) => {
    throw new CommandError(
      `${file} cannot be written: ${messageOf(error)}.`,
      'Name a file that does not exist yet.',
    );
  });
  let isBroken = false;
  stream.on('error', () => {
    isBroken = true;
  });
  const write = (line: string): boolean => {
    if (isBroken || stream.writableLength > WAITING_BYTES_MAX) return false;
    stream.write(line);
    return true;
  };
  const recorder = createRecorder({ nowMs: () => performance.now(), write, bytesMax: FILE_BYTES_MAX });
  return {
    recorder,
    async close() {
      recorder.end();
      await closed(stream);
    },
  };
}

const closed = (stream: WriteStream): Promise<void> =>
  new Promise((done) => {
    stream.end(() => done());
    stream.on('error', () => done());
  });
