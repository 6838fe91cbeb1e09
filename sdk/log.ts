import { LoggingSeverity, severityToString } from './enums.ts';
import type { Disposer } from './signal.ts';

export type LogCallback = (message: string, severity: LoggingSeverity) => void;

interface Sink {
  readonly minimum: LoggingSeverity;
  readonly write: LogCallback;
}

/** Maximum number of secrets to redact: a session has few tokens and codes. Beyond it the oldest is forgotten. */
const SECRETS_MAX = 128;
/** Minimum length of a secret, characters; a shorter one would redact ordinary words. */
const SECRET_CHARS_MIN = 6;
const REDACTED = '[secret]';
/** Patterns of places in text that hold a secret, known or not. */
const PLACES: readonly RegExp[] = [
  /(\b(?:Bearer|Basic|Bot)\s+)[\w.~+/=-]+/gi,
  /("?\b(?:access_token|refresh_token|id_token|parent_access_token|external_auth_token|client_secret|code_verifier|device_code|secret|token|code)"?\s*[:=]\s*"?)[^\s"&,}]+/gi,
];

/**
 * Log of the library. No line of any level contains a token, refresh token, code, verifier or secret: known values
 * and known places are redacted.
 *
 * Only warnings and errors are written, unless `debug` is set.
 */
export class Log {
  readonly #debug: boolean;
  readonly #sinks = new Set<Sink>();
  readonly #secrets: Set<string>;

  constructor(debug: boolean, secrets: Set<string> = new Set()) {
    this.#debug = debug;
    this.#secrets = secrets;
  }

  /** A separate log that redacts the same secrets. */
  beside(): Log {
    return new Log(this.#debug, this.#secrets);
  }

  /** Adds a value to redact from now on; empty and undefined values are ignored. */
  keepSecret(...values: readonly (string | null | undefined)[]): void {
    for (const value of values) {
      if (!value || value.length < SECRET_CHARS_MIN) continue;
      for (const form of new Set([value, encodeURIComponent(value)])) {
        this.#secrets.delete(form);
        this.#secrets.add(form);
      }
    }
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= SECRETS_MAX) break;
      this.#secrets.delete(oldest);
    }
  }

  redact(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, REDACTED);
    for (const place of PLACES) clean = clean.replace(place, `$1${REDACTED}`);
    return clean;
  }

  /** A callback that throws is removed. */
  add(write: LogCallback, minimum: LoggingSeverity): Disposer {
    const sink = { minimum, write };
    this.#sinks.add(sink);
    if (this.#debug && minimum <= LoggingSeverity.Warning)
      this.#give(
        sink,
        'This is a debug build: it also writes Info and Verbose. Do not ship it.',
        LoggingSeverity.Warning,
      );
    return () => void this.#sinks.delete(sink);
  }

  verbose(text: () => string): void {
    if (this.#debug && this.#sinks.size > 0) this.#write(text(), LoggingSeverity.Verbose);
  }

  info(text: string): void {
    if (this.#debug) this.#write(text, LoggingSeverity.Info);
  }

  warn(text: string): void {
    this.#write(text, LoggingSeverity.Warning);
  }

  error(text: string): void {
    this.#write(text, LoggingSeverity.Error);
  }

  #write(text: string, severity: LoggingSeverity): void {
    if (this.#sinks.size === 0) return;
    const clean = this.redact(text);
    for (const sink of this.#sinks) if (severity >= sink.minimum) this.#give(sink, clean, severity);
  }

  #give(sink: Sink, text: string, severity: LoggingSeverity): void {
    try {
      sink.write(text, severity);
    } catch {
      this.#sinks.delete(sink);
    }
  }
}

/** Formats a line of a log file. */
export const logLine = (message: string, severity: LoggingSeverity, now: Date): string =>
  `${now.toISOString()} ${severityToString(severity).padEnd(7)} ${message.replaceAll(/[\r\n]+/g, ' ⏎ ')}\n`;
