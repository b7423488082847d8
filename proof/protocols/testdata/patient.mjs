// patient is fetch, repeated while no server listens.
export async function patient(input, init) {
  for (let i = 0; ; i++) {
    try {
      return await fetch(input, init);
    } catch (e) {
      if (i > 200 || init?.signal?.aborted) throw e;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
