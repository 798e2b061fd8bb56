# frozen_string_literal: true

require_relative "../clock"
require_relative "class_table"
require_relative "figures"
require_relative "key_class"
require_relative "minutes"
require_relative "words"

module Tiercel
  class Account
    # The part of an account that a process updates once a second: the classes of keys, and the minutes. Until then, its
    # misses are pending in its memory. Such an update is a round.
    #
    # @private
    class Rounds
      # Classifying a key takes 5 us, as long as a miss. Of the misses of a second, the first {ALL_OF} are classified,
      # then one in {SAMPLE}, as of the hits. Blocks of {NOTED_SECONDS} and more are classified. Of shorter blocks, one
      # is classified each time that they have taken so long together, and the whole duration counts for its class.
      ALL_OF = 1_000
      SAMPLE = 256
      NOTED_SECONDS = 0.0001
      # Number of Array elements for each pending miss. All pending misses share one Array, so that a miss allocates no
      # object.
      PENDING_SIZE = 5
      # The largest size of the pending misses; then a round classifies them early.
      MOST_PENDING = 512 * PENDING_SIZE
      # The longest waits for the lock in seconds: during a caller's miss, and when a process exits.
      PATIENCE = 0.001
      LAST_PATIENCE = 1.0
      # Rounds take at most this share of the time, besides one round a minute. A round that waits ten times for the
      # interpreter's lock, beside a computing thread, lasts a second.
      SHARE = 0.02
      # The places of the parts in the file, and the file's size.
      CLASSES_AT = 4_096
      WORDS_AT = CLASSES_AT + ClassTable::BYTES
      MINUTES_AT = WORDS_AT + Words::BYTES
      BYTES = MINUTES_AT + Minutes::BYTES
      private_constant :ALL_OF, :SAMPLE, :NOTED_SECONDS, :PENDING_SIZE, :MOST_PENDING, :PATIENCE, :LAST_PATIENCE,
                       :SHARE, :CLASSES_AT, :WORDS_AT, :MINUTES_AT

      # @param book [Book]
      # @param second [Integer] the present second, in epoch seconds
      # @param namespace [String, nil] the store's namespace
      # @yieldreturn [Array<Integer>] the present figures
      def initialize(book, second, namespace, &figures)
        @book = book
        @second = second
        @pause = 0
        @figures = figures
        @minute = 0
        @words = Words.new(book, WORDS_AT)
        @class_of = KeyClass.new(@words, namespace)
        @table = ClassTable.new(book, CLASSES_AT)
        @minutes = Minutes.new(book, MINUTES_AT)
        forget
      end

      # Drops the pending misses. A forked child calls this, because the pending misses belong to its parent.
      #
      # @return [void]
      def forget
        @lock = Mutex.new
        @pending = []
        @costs = {}
        @misses = 0
        @block_seconds = 0.0
      end

      # Begins a round with the first event of a second; after a long round, with an event some seconds later, but with
      # the first of a minute at the latest. The caller counts the event afterwards.
      #
      # @param second [Integer]
      # @return [void]
      def turn(second)
        early = second == @second || (second / 60 == @second / 60 && (second - @second).between?(0, @pause))
        return if early && @pending.size < MOST_PENDING
        alone { early ? add_up : round(second, PATIENCE) }
      end

      # Runs a round now.
      #
      # @param second [Integer]
      # @return [void]
      def finish(second) = alone { round(second, LAST_PATIENCE, ends: true) }

      # Adds a miss to the pending ones.
      #
      # @param key [String]
      # @return [void]
      def note_miss(key)
        past = (@misses += 1) - ALL_OF
        return @pending.push(key, 1, 0.0, 0.0, 0) unless past.positive?
        @pending.push(key, SAMPLE, 0.0, 0.0, 0) if past % SAMPLE == SAMPLE / 2
      end

      # Adds the block of a miss to the pending ones.
      #
      # @param key [String]
      # @param seconds [Float] the duration of the block
      # @return [void]
      def note_block(key, seconds)
        return @pending.push(key, 0, seconds, seconds, 0) if seconds >= NOTED_SECONDS
        noted = @block_seconds += seconds
        return if noted < NOTED_SECONDS
        @block_seconds = 0.0
        @pending.push(key, 0, noted, seconds, 0)
      end

      # Adds a sampled hit to the pending events.
      #
      # @param key [String]
      # @param hits [Integer] the number of hits that the sample represents
      # @return [void]
      def note_hits(key, hits) = @pending.push(key, 0, 0.0, 0.0, hits)

      # @see Account#minutes
      def minutes(count, second)
        alone { round(second, PATIENCE) }
        @minutes.last(count, second / 60, @figures.call, @book.since / 60)
      end

      # @see Account#classes
      def classes(period, limit, second)
        alone { round(second, PATIENCE) }
        @table.all(period, second)
              .sort_by { |one| [@class_of.other?(one[:name]) ? 1 : 0, -one[:seconds], -one[:misses]] }
              .first(limit)
      end

      private

      # Runs the block unless another thread is running one.
      def alone
        return unless @lock.try_lock
        begin
          yield
        ensure
          @lock.unlock
        end
      end

      # If another process holds the file's lock, the counts stay pending until the next round.
      def round(second, patience, ends: false)
        @misses = 0 if second != @second
        @second = second
        add_up
        return if @costs.empty? && second / 60 == @minute && !ends
        began = Clock.monotonic
        @book.hold(patience) { keep(second) }
        @pause = ((Clock.monotonic - began) / SHARE).floor
      end

      def add_up
        @pending.shift(@pending.size).each_slice(PENDING_SIZE) do |key, misses, seconds, longest, hits|
          cost = @costs[@class_of.of(key)] ||= ClassTable::Cost.none
          cost.misses += misses
          cost.seconds += seconds
          cost.hits += hits
          cost.longest_seconds = longest if longest > cost.longest_seconds
        end
        return if @costs.size <= ClassTable::SLOTS
        @costs = @costs.max_by(ClassTable::SLOTS) { |_, cost| cost.seconds }.to_h
      end

      def keep(second)
        minute = second / 60
        figures = @figures.call(keep: true)
        @minutes.note(minute, figures) unless minute == @minute || @minutes.noted?(minute)
        @minute = minute
        @words.exchange
        @table.add(@costs, second) unless @costs.empty?
        @costs = {}
      end
    end
  end
end
