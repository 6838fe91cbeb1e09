import { createHash, randomBytes } from 'node:crypto';
import { dropOldest } from '../../protocol/oldest.ts';
import { builtWebFolder, readWebFiles, safeHeaders, type WebFile } from '../http/webfiles.ts';
import type { AdminRequest, AdminToken } from './port.ts';
import type { AdminAnswer } from './route.ts';

/** Path of the built files' folder, as their build names it. */
const FILES = '/voice-room/';
const PAGE = 'console/index.html';
const CODE_MS = 15 * 60_000;
const SESSION_MS = 12 * 3_600_000;
const CODES_MAX = 16;
const CODE = /^Code ([\w-]{32})$/;

/** The page at `/` of the admin port: its files are public, what it shows needs an admin token. */
interface Console {
  /** Answers what needs no token; null for other requests. */
  open(request: AdminRequest): AdminAnswer | null;
  /** A link that signs a browser in once, within fifteen minutes; the session it opens lasts twelve hours. */
  signInLink(url: string): string;
  sessions(): readonly AdminToken[];
}

/** @param nowMs Monotonic milliseconds. */
export function createConsole(nowMs: () => number): Console {
  const files = readWebFiles(builtWebFolder(), safeHeaders(null));
  /** When each code ends, by its hash. */
  const codes = new Map<string, number>();
  let sessions: readonly { readonly token: AdminToken; readonly untilMs: number }[] = [];
  const current = () => sessions.filter(({ untilMs }) => nowMs() < untilMs);

  function exchanged({ authorization, origin, host }: AdminRequest): AdminAnswer {
    const refused = (message: string): AdminAnswer => ({
      status: 401,
      body: { error: { code: 'bad_code', message } },
    });
    if (origin === null || !URL.canParse(origin) || new URL(origin).host !== host)
      return refused('This request was not sent by the page of this port.');
    const hash = hashOf(CODE.exec(authorization)?.[1] ?? '');
    const untilMs = codes.get(hash) ?? 0;
    codes.delete(hash);
    if (nowMs() >= untilMs) return refused('This link was used before, or is too old.');
    const secret = randomBytes(32).toString('base64url');
    sessions = [
      ...current(),
      { token: { name: 'console_link', secret }, untilMs: nowMs() + SESSION_MS },
    ].slice(-CODES_MAX);
    return { status: 200, body: { token: secret } };
  }

  return {
    open(request) {
      const { method, path, accept } = request;
      if (method === 'POST' && path === '/console/code') return exchanged(request);
      if (method !== 'GET') return null;
      if (path === '/' && /\btext\/html\b/.test(accept)) return answerOf(files.get(PAGE));
      return path.startsWith(`${FILES}assets/`) ? answerOf(files.get(path.slice(FILES.length))) : null;
    },
    signInLink(url) {
      const code = randomBytes(24).toString('base64url');
      codes.set(hashOf(code), nowMs() + CODE_MS);
      dropOldest(codes, CODES_MAX);
      return `${url}/#code=${code}`;
    },
    sessions: () => current().map(({ token }) => token),
  };
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex');
const answerOf = (file: WebFile | undefined): AdminAnswer | null => (file ? { status: 200, file } : null);
