# frozen_string_literal: true

require_relative "../clock"
require_relative "class_table"
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
      private_constant :PENDING_SIZE, :MOST_PENDING, :PATIENCE, :LAST_PATIENCE, :SHARE, :CLASSES_AT, :WORDS_AT,
                       :MINUTES_AT

      # @param book [Book]
      # @param namespace [String, nil] the store's namespace
      # @yieldreturn [Array<Integer>] the present figures
      def initialize(book, namespace, &figures)
        @book = book
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
      end

      # Runs the round that is due with the first event of a second; after a long round, with an event some seconds
      # later, but with the first of a minute at the latest. The caller counts the event afterwards.
      #
      # @param second [Integer] the present second, in epoch seconds
      # @return [void]
      def turn(second) = alone { round(second, PATIENCE) }

      # Runs a round now.
      #
      # @param second [Integer]
      # @return [void]
      def finish(second) = alone { round(second, LAST_PATIENCE, ends: true) }

      # Adds a miss to the pending ones.
      #
      # @param key [String]
      # @param misses [Integer] the number of misses that it represents
      # @return [void]
      def note_miss(key, misses) = pend(key, misses, 0.0, 0.0, 0)

      # Adds the block of a miss to the pending ones.
      #
      # @param key [String]
      # @param noted_ns [Integer] the duration of all blocks that it represents
      # @param duration_ns [Integer] the duration of the block
      # @return [void]
      def note_block(key, noted_ns, duration_ns) = pend(key, 0, noted_ns / 1e9, duration_ns / 1e9, 0)

      # Adds a sampled hit to the pending events.
      #
      # @param key [String]
      # @param hits [Integer] the number of hits that the sample represents
      # @return [void]
      def note_hits(key, hits) = pend(key, 0, 0.0, 0.0, hits)

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

      def pend(key, misses, seconds, longest, hits)
        @pending.push(key, misses, seconds, longest, hits)
        alone { add_up } if @pending.size >= MOST_PENDING
      end

      # Runs the block unless another thread is running one. Ruby raises a caller's Timeout at a branch, so no branch
      # may precede the `ensure` while the lock is held.
      def alone
        held = @lock.try_lock
        yield if held
      ensure
        @lock.unlock if held
      end

      # If another process holds the file's lock, the counts stay pending until the next round.
      def round(second, patience, ends: false)
        rest(second)
        add_up
        return if @costs.empty? && second / 60 == @minute && !ends
        began = Clock.monotonic
        @book.hold(patience) { keep(second) }
        @pause = ((Clock.monotonic - began) / SHARE).floor
        rest(second)
      end

      # Until the pause or the minute ends, no event begins a round.
      def rest(second)
        @book.counters.rest(second, [second + @pause, second - (second % 60) + 59].min)
      end

      # A miss and its block follow each other, and are classified once.
      def add_up
        classified = cost = nil
        @pending.shift(@pending.size).each_slice(PENDING_SIZE) do |key, misses, seconds, longest, hits|
          cost = cost_of(classified = key) unless key == classified
          cost.misses += misses
          cost.seconds += seconds
          cost.hits += hits
          cost.longest_seconds = longest if longest > cost.longest_seconds
        end
        return if @costs.size <= ClassTable::SLOTS
        @costs = @costs.max_by(ClassTable::SLOTS) { |_, cost| cost.seconds }.to_h
      end

      def cost_of(key) = @costs[@class_of.of(key)] ||= ClassTable::Cost.none

      def keep(second)
        minute = second / 60
        figures = @figures.call(keep: true)
        @minutes.note(minute, figures) unless minute == @minute || @minutes.noted?(minute)
        @minute = minute
        @words.exchange
        @table.add(@costs, second) unless @costs.empty?
      end
    end
  end
end
