/** A metric, read when metrics are scraped. Metrics of one name differ in the values of their labels. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Largest possible value, when it is bounded. */
  readonly max?: number;
  read(): number | Promise<number>;
}
