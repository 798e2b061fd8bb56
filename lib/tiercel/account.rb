# frozen_string_literal: true

require_relative "clock"
require_relative "account/figures"
require_relative "account/reading"
require_relative "forks"

module Tiercel
  # Counts a cache's work: hits, misses, the cost of the misses, and the classes of their keys. With `shared:`, `file:`
  # and `sqlite:`, all processes of a machine share one account, in a file of 1.6 MB. With other backends each process
  # has its own.
  #
  #   Rails.cache.account.totals   # => { scope: :machine, hits: 91_204, misses: 512, block_seconds: 40.3, ... }
  #   Rails.cache.account.minutes(60)
  #   Rails.cache.account.classes(:hour, limit: 10)
  #
  # Totals are exact: each call counts at once, in memory that survives the process. A process updates the classes once
  # a second, or less often if that takes long. A killed process loses the classes since its last update.
  #
  # {Reading} has the methods that return the figures.
  class Account
    include Reading

    # The other classes are loaded with the first count.
    %i[Book Counters ProcessTier Rounds SegmentTier].each do |name|
      autoload name, File.expand_path("account/#{name.to_s.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase}", __dir__)
    end
    autoload :ClassTable, File.expand_path("account/rounds", __dir__)

    # The place of the first figure among the file's counters.
    FIGURES_AT = 16

    # The accounts in which this process has counted. A process flushes them when it ends; a child starts with empty
    # counts.
    module Open
      @accounts = ObjectSpace::WeakMap.new

      class << self
        # @param account [Account]
        # @return [void]
        def add(account)
          @flush ||= at_exit { @accounts.each_key(&:flush) }
          @accounts[account] = true
        end

        # A handler of {Forks}.
        def around_fork
          yield.tap { |pid| @accounts.each_key(&:forked) if pid.zero? }
        end
      end

      Forks.register(self)
    end
    private_constant :Open

    # Removes the files of all accounts in one place.
    #
    # @private
    # @param path [String] from {Backend::StoreParts#account_path}
    # @return [void]
    def self.remove(path)
      folder, name = File.split(path)
      names = Dir.children(folder).select { |child| child.start_with?(name) }
      require "fileutils"
      FileUtils.rm_f(names.map { |child| File.join(folder, child) })
    end

    # @private
    # @param backend [Backend]
    # @param namespace [String, nil] namespace of the store
    def initialize(backend, namespace = nil)
      tiers = backend.tiers.first(Figures::MOST_TIERS)
      @names = tiers.map(&:to_s)
      @last = tiers.size - 1
      @hits_of = Array.new(tiers.size) { |tier| Figures.of_tier(tier, :hits) }
      @last_hits = @hits_of.last
      @hit_word = FIGURES_AT + @last_hits
      @miss_word = FIGURES_AT + Figures.of_tier(@last, :misses)
      @last_writes = Figures.of_tier(@last, :writes)
      @counting = tiers.each_with_index.filter_map { |tier, number| counting(tier, number) }
      @last_counts = tiers.last.respond_to?(:segment) && @counting.last&.number == @last
      @path = backend.account_path
      @namespace = namespace
      @opening = Mutex.new
    end

    # @private
    # Counts a miss.
    #
    # @param key [String]
    # @return [void]
    def missed(key) = note_miss(turn, key, @miss_word)

    # @private
    # Turns a counted hit into a miss, because its value is unusable.
    #
    # @param key [String]
    # @return [void]
    def unserved(key)
      add(@last_hits, -1)
      missed(key)
    end

    # @private
    # Counts the misses of a multi read, in at most one round. Beside a computing thread, each round waits for the
    # interpreter's lock about ten times: often longer than a second, and then the next round is due.
    #
    # @param keys [Array<String>] the keys of the read
    # @param found [Hash{String => Object}]
    # @return [Integer] the number of misses
    def missed_several(keys, found)
      missing = keys.reject { |key| found.key?(key) }
      return 0 if missing.empty?
      page = turn
      missing.each { |key| note_miss(page, key, @miss_word) }
      missing.size
    end

    # @private
    # As {#missed_several}; also counts the hits of the last tier.
    def read_several(keys, found) = add(@last_hits, keys.size - missed_several(keys, found))

    # @private
    # Counts a hit of the last tier.
    #
    # @param key [String]
    # @return [void]
    def hit(key)
      page = @page || open_page
      sampled(key, page.class::SAMPLE) if page.hit(@hit_word)
    end

    # @private
    # Counts hits of a tier.
    #
    # @param tier [Integer]
    # @param amount [Integer]
    # @return [void]
    def hits(tier, amount = 1) = add(@hits_of[tier], amount)

    # @private Records the class of a sampled hit, which represents many hits. A segment calls it too.
    #
    # @param key [String]
    # @param weight [Integer] the number of hits
    # @return [void]
    def sampled(key, weight)
      turn
      rounds.note_hits(key, weight)
    end

    # @private Counts misses of a tier before the last one.
    def passed(tier, amount = 1) = add(Figures.of_tier(tier, :misses), amount)

    # @private
    # Counts an answer of Rails' request-local cache.
    #
    # @param key [String]
    # @param bytes [String, nil] the answer; nil is a miss
    # @return [void]
    def local(key, bytes)
      return add(LOCAL_HITS) unless bytes.nil?
      note_miss(turn, key, nil)
    end

    # @private
    # Counts writes to the last tier, unless the tier is a segment, which counts them itself.
    def wrote(amount = 1)
      turn unless @last_counts
      filled(amount)
    end

    # @private
    # As {#wrote}, for the values of blocks: the misses before them have already begun the round.
    def filled(amount = 1) = @last_counts ? nil : add(@last_writes, amount)

    # @private
    # @see #wrote
    def deleted(amount = 1) = @last_counts ? nil : add(Figures.of_tier(@last, :deletes), amount)

    # @private
    # Counts a failed call of the backend.
    #
    # @param opened [Boolean] whether the failure opened the breaker
    # @return [void]
    def failed(opened: false)
      count(:failures)
      count(:breaker_openings) if opened
    end

    # @private
    # Runs the block of a `fetch`, and counts it.
    #
    # @param key [String]
    # @return [Object] the block's value
    def timed(key)
      began = Clock.monotonic_ns
      begin
        yield
      ensure
        computed(key, Clock.monotonic_ns - began)
      end
    end

    # @private
    # Adds to a figure of the store.
    #
    # @param name [Symbol] one of {Figures::STORE}
    # @param amount [Integer]
    # @return [void]
    def count(name, amount = 1) = add(Figures.of_store(name), amount)

    # Writes the pending misses into the file.
    #
    # @private
    # @return [void]
    def flush = @book&.there? && rounds.finish(now)

    # @private Called in a child, whose own counts begin at zero. An account in memory begins anew with its first count.
    def forked
      @opening = Mutex.new
      @counting.each(&:forked)
      @page = nil
      return @book = @rounds = nil unless @book&.path
      @rounds&.forget
      @book.counters.forget_own
    end

    LOCAL_HITS = Figures.of_store(:local_hits)
    MISS_WORD = FIGURES_AT + Figures.of_store(:misses)
    # The duration of the blocks has the next word.
    BLOCK_WORD = FIGURES_AT + Figures.of_store(:blocks)
    SHORT_NS = 10_000_000
    private_constant :LOCAL_HITS, :MISS_WORD, :BLOCK_WORD, :SHORT_NS

    private

    def open_book
      @opening.synchronize do
        next if @book
        book = Book.new(@path, Rounds::BYTES)
        book.counters.rest(now, now) # the first second needs no round
        @book = book
      end
      Open.add(self)
      @book
    end

    def book = @book || open_book

    def open_rounds
      book = self.book
      @opening.synchronize do
        @rounds ||= Rounds.new(book, @namespace) { |keep: false| figures(keep:) }
      end
    end

    def rounds = @rounds || open_rounds

    def counting(tier, number)
      segment = tier.segment if tier.respond_to?(:segment)
      segment.sampler = self if defined?(Segment) && segment.is_a?(Segment)
      return SegmentTier.new(tier, number) if segment && tier.account_path
      ProcessTier.new(tier, number) if segment || tier.respond_to?(:evictions)
    end

    def page = @page || open_page
    def open_page = @page = book.counters
    def add(figure, amount = 1) = page.add(FIGURES_AT + figure, amount)
    def now = Clock.seconds

    # The read before a short block has already begun the round. Reading the clock again would cost a tenth of a miss.
    def computed(key, duration_ns)
      page = duration_ns > SHORT_NS ? turn : @page || open_page
      noted = page.block(BLOCK_WORD, duration_ns)
      rounds.note_block(key, noted, duration_ns) if noted
    end

    # @param word [Integer, nil] also counts the misses of the last tier
    def note_miss(page, key, word)
      weight = page.miss(MISS_WORD, word)
      rounds.note_miss(key, weight) if weight
    end

    # Runs the round that is due. A round replaces the page if the account's file was removed.
    #
    # @return [Object] the counters
    def turn
      page = @page || open_page
      return page unless page.due?
      rounds.turn(now)
      open_page
    end
  end
end
