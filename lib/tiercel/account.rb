# frozen_string_literal: true

require "etc"
require "fileutils"

require_relative "clock"
require_relative "account/figures"
require_relative "forks"

module Tiercel
  # Counts a cache's work: hits, misses, the cost of the misses, and the classes of their keys. With `shared:`, `file:`
  # and `sqlite:` all processes of a machine keep one account, in a file of 1.6 MB; elsewhere each process has its own.
  #
  #   Rails.cache.account.totals   # => { scope: :machine, hits: 91_204, misses: 512, block_seconds: 40.3, ... }
  #   Rails.cache.account.minutes(60)
  #   Rails.cache.account.classes(:hour, limit: 10)
  #
  # Totals are exact: each call counts at once, in memory that survives the process. Classes are put together once a
  # second, so those of a process that is killed lack its last second.
  class Account
    # Loaded when there is something to count.
    %i[Book Counters Medium ProcessTier Rounds SegmentTier].each do |name|
      autoload name, File.expand_path("account/#{name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase}", __dir__)
    end
    autoload :ClassTable, File.expand_path("account/rounds", __dir__)

    # The first word of the figures in the file's counters.
    FIGURES_AT = 16
    DAY_MINUTES = 1_440
    # As binding_read.c has it.
    SEGMENT_SAMPLE = 1_024
    private_constant :DAY_MINUTES, :SEGMENT_SAMPLE

    # Accounts in which this process has counted something. They are flushed when it ends, and begin anew in a child.
    module Open
      @accounts = ObjectSpace::WeakMap.new

      class << self
        # @param account [Account]
        # @return [void]
        def add(account)
          @flush ||= at_exit { @accounts.each_key(&:flush) }
          @accounts[account] = true
        end

        # Handler of forks.
        def around_fork
          yield.tap { |pid| @accounts.each_key(&:forked) if pid.zero? }
        end
      end

      Forks.register(self)
    end
    private_constant :Open

    # Removes the files of all accounts of a place.
    #
    # @private
    # @param path [String] of {Backend::StoreParts#account_path}
    # @return [void]
    def self.remove(path)
      folder, name = File.split(path)
      names = Dir.children(folder).select { |child| child.start_with?(name) }
      FileUtils.rm_f(names.map { |child| File.join(folder, child) })
    end

    # @private
    # @param backend [Backend]
    # @param namespace [String, nil] of the store
    def initialize(backend, namespace = nil)
      tiers = backend.tiers.first(Figures::MOST_TIERS)
      @names = tiers.map(&:to_s)
      @last = tiers.size - 1
      @hits_of = Array.new(tiers.size) { |tier| Figures.of_tier(tier, :hits) }
      @last_hits = @hits_of.last
      @hit_word = FIGURES_AT + @last_hits
      @last_misses = Figures.of_tier(@last, :misses)
      @counting = tiers.each_with_index.filter_map { |tier, number| counting(tier, number) }
      @last_counts = tiers.last.respond_to?(:segment) && @counting.last&.number == @last
      @path = backend.account_path
      @namespace = namespace
      @opening = Mutex.new
    end

    # @return [Symbol] :machine where all processes count together, :process where the figures are this process's alone
    def scope = book.scope

    # @return [String, nil] of the file; nil where there is none
    def path = book.path

    # All that was counted since the account was begun. Durations are in `*_seconds`.
    #
    # - `scope`, `host`, `since` (epoch seconds)
    # - `hits`, `misses`: reads, fetches, `exist?` and names of multi reads. A hit of any tier is one hit
    # - `writes`, `deletes`, `evictions`: of the last tier
    # - `local_hits`: those of the hits that Rails' request-local cache has answered
    # - `blocks`, `block_seconds`: blocks of `fetch` that ran, and how long
    # - `lease_waits`, `lease_wait_seconds`, `lease_takeovers`, `stale_hits`, `background_refreshes`,
    #   `early_refreshes`, `timeouts`, `tag_invalidations`
    # - `failures`, `breaker_openings`: calls that the backend failed
    # - `tiers`: by name, nearest first: `hits`, `misses`, `writes`, `deletes`, `evictions` and those by reason
    #   (`small_evictions`, `main_evictions`, `expired_evictions`, `bound_evictions`, `index_evictions`,
    #   `other_evictions`), `resets`, `lock_takeovers`
    #
    # @return [Hash{Symbol => Object}]
    def totals
      { scope:, host: Etc.uname[:nodename], since: book.since, **Figures.named(figures, @names) }
    end

    # The counts of this process alone since it was started or forked: as {#totals}, without `scope` and `host`.
    # The sum over all processes is the machine's.
    #
    # @return [Hash{Symbol => Object}]
    def own = Figures.named(own_figures, @names)

    # The last minutes one by one, the present one at the end. Minutes without a call are there, with zeros.
    #
    # @param count [Integer] 1 to 1,440
    # @return [Array<Hash{Symbol => Object}>] `at` (epoch seconds of its beginning) and the figures of {#totals}
    def minutes(count = DAY_MINUTES)
      rounds.minutes(count.clamp(1, DAY_MINUTES), now).map do |minute, figures|
        { at: minute * 60, **Figures.named(figures, @names) }
      end
    end

    # The classes of keys, those whose misses cost most first. Keys that have no part in common with others stand
    # together at the end, as `*`.
    #
    # - `name`; `misses`; `seconds`: of the blocks that ran for them; `hits`: estimated from a sample
    # - `longest_seconds`: of one block; `total_misses` and `total_seconds`: all of them, since the class is kept
    # - `inherited_seconds`: by how much its rank may be too high (Space-Saving)
    #
    # @param period [Symbol] :hour or :day
    # @param limit [Integer] how many
    # @return [Array<Hash{Symbol => Object}>]
    def classes(period = :day, limit: 1_000)
      raise ArgumentError, "period: expected :hour or :day, got #{period.inspect}" unless %i[hour day].include?(period)
      rounds.classes(period, limit, now)
    end

    # --- counting ---

    # @private
    # A read has found nothing.
    #
    # @param key [String]
    # @return [void]
    def missed(key)
      turn
      add(MISSES)
      add(@last_misses)
      note(key, 1, 0.0)
    end

    # @private
    # Takes back a counted hit whose value turned out to be unusable.
    #
    # @param key [String]
    # @return [void]
    def unserved(key)
      add(@last_hits, -1)
      missed(key)
    end

    # @private
    # @param keys [Array<String>] that were asked for
    # @param found [Hash{String => Object}]
    # @return [Integer] how many are missing
    def missed_several(keys, found)
      keys.count do |key|
        next if found.key?(key)
        missed(key)
        true
      end
    end

    # @private
    # As {#missed_several}, and counts the hits of the last tier.
    def read_several(keys, found) = add(@last_hits, keys.size - missed_several(keys, found))

    # @private
    # The last tier has answered.
    #
    # @param key [String]
    # @return [void]
    def hit(key)
      page = @page || book.counters
      sampled(key, Counters::SAMPLE) if page.hit(@hit_word)
    end

    # @private
    # @param tier [Integer]
    # @param amount [Integer]
    # @return [void]
    def hits(tier, amount = 1) = add(@hits_of[tier], amount)

    # @private
    # One hit of many, which stands for all.
    #
    # @param key [String]
    # @param weight [Integer] how many
    # @return [void]
    def sampled(key, weight = SEGMENT_SAMPLE)
      @page = book.counters
      turn
      rounds.note_hits(key, weight)
    end

    # @private
    # A tier that is not the last one has nothing of use.
    def passed(tier, amount = 1) = add(Figures.of_tier(tier, :misses), amount)

    # @private
    # The request-local cache has answered.
    #
    # @param key [String]
    # @param bytes [String, nil]
    # @return [void]
    def local(key, bytes)
      return add(LOCAL_HITS) unless bytes.nil?
      turn
      add(MISSES)
      note(key, 1, 0.0)
    end

    # @private
    # The last tier was changed. One that is a segment counts by itself.
    def wrote(amount = 1)
      return if @last_counts
      turn
      add(Figures.of_tier(@last, :writes), amount)
    end

    # @private
    # @see #wrote
    def deleted(amount = 1) = @last_counts ? nil : add(Figures.of_tier(@last, :deletes), amount)

    # @private
    # A call of the backend has failed.
    #
    # @param opened [Boolean] whether the breaker is open since then
    # @return [void]
    def failed(opened: false)
      count(:failures)
      count(:breaker_openings) if opened
    end

    # @private
    # Runs the block of a `fetch`.
    #
    # @param key [String]
    # @return [Object] what it gives
    def timed(key)
      began = Clock.monotonic
      yield
    ensure
      computed(key, Clock.monotonic - began)
    end

    # @private
    # @param name [Symbol] of {Figures::STORE}
    # @param amount [Integer]
    # @return [void]
    def count(name, amount = 1) = add(Figures.of_store(name), amount)

    # Puts what is pending into the file.
    #
    # @private
    # @return [void]
    def flush = @book&.there? && rounds.finish(now)

    # Called in a child: what its parent has counted is not its own.
    #
    # @private
    # @return [void]
    def forked
      @opening = Mutex.new
      @rounds&.forget
      @book.counters.forget_own
      @counting.each(&:forked)
    end

    MISSES = Figures.of_store(:misses)
    LOCAL_HITS = Figures.of_store(:local_hits)
    BLOCKS = Figures.of_store(:blocks)
    BLOCK_NS = Figures.of_store(:block_ns)
    SHORT_SECONDS = 0.01
    private_constant :MISSES, :LOCAL_HITS, :BLOCKS, :BLOCK_NS, :SHORT_SECONDS

    private

    def open_book
      @opening.synchronize do
        next if @book
        @began = now
        @book = Book.new(@path, Rounds::BYTES)
      end
      Open.add(self)
      @book
    end

    def book = @book || open_book

    def open_rounds
      book = self.book
      @opening.synchronize do
        @rounds ||= Rounds.new(book, @began, @namespace) { |keep: false| figures(keep:) }
      end
    end

    def rounds = @rounds || open_rounds

    def counting(tier, number)
      segment = tier.segment if tier.respond_to?(:segment)
      segment.sampler = self if defined?(Segment) && segment.is_a?(Segment)
      return SegmentTier.new(tier, number) if segment && tier.account_path
      ProcessTier.new(tier, number) if segment || tier.respond_to?(:evictions)
    end

    def add(figure, amount = 1) = book.counters.add(FIGURES_AT + figure, amount)
    def now = Clock.seconds

    # The read before a short block has begun the round: asking for the time again would cost a tenth of the miss.
    def computed(key, seconds)
      turn if seconds > SHORT_SECONDS
      add(BLOCKS)
      add(BLOCK_NS, (seconds * 1e9).to_i)
      note(key, 0, seconds)
    end

    def turn = rounds.turn(now)
    def note(key, misses, seconds) = rounds.note(key, misses, seconds)

    # @param keep [Boolean] under the lock: the tiers' own figures are kept, too
    def figures(keep: false)
      counters = book.counters
      @counting.each { |tier| tier.keep_up(counters, FIGURES_AT) } if keep
      figures = Array.new(Figures::COUNT) { |index| counters.load(FIGURES_AT + index) }
      @counting.each { |tier| tier.add_to(figures) }
      figures
    end

    def own_figures
      counters = book.counters
      figures = Array.new(Figures::COUNT) { |index| counters.own(FIGURES_AT + index) }
      @counting.each { |tier| tier.add_own_to(figures) }
      figures
    end
  end
end
