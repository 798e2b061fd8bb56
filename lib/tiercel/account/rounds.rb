# frozen_string_literal: true

require_relative "class_table"
require_relative "figures"
require_relative "key_class"
require_relative "minutes"
require_relative "words"

module Tiercel
  class Account
    # The part of an account that is brought up to date once a second: classes of keys, and minutes. Misses wait in this
    # process until then.
    #
    # @private
    class Rounds
      # The class is looked at of every miss whose block took longer. Of the others in a second, so many; beyond them
      # one of {SAMPLE}, for all: to look at a class takes 5 us, as long as a whole miss.
      DEAR_SECONDS = 0.0001
      ALL_OF = 1_000
      SAMPLE = 64
      # Misses that wait until their classes are looked at.
      MOST_PENDING = 512
      # Seconds that a round waits for the lock: in a caller's miss, and at the end of a process.
      PATIENCE = 0.001
      LAST_PATIENCE = 1.0
      # Where the parts are in the file, and where it ends.
      CLASSES_AT = 4_096
      WORDS_AT = CLASSES_AT + ClassTable::BYTES
      MINUTES_AT = WORDS_AT + Words::BYTES
      BYTES = MINUTES_AT + Minutes::BYTES
      private_constant :DEAR_SECONDS, :ALL_OF, :SAMPLE, :MOST_PENDING, :PATIENCE, :LAST_PATIENCE, :CLASSES_AT,
                       :WORDS_AT, :MINUTES_AT

      # @param book [Book]
      # @param second [Integer] the present one, epoch seconds
      # @param namespace [String, nil] of the store
      # @yieldreturn [Array<Integer>] all figures as they are now
      def initialize(book, second, namespace, &figures)
        @book = book
        @second = second
        @figures = figures
        @minute = 0
        @words = Words.new(book, WORDS_AT)
        @class_of = KeyClass.new(@words, namespace)
        @table = ClassTable.new(book, CLASSES_AT)
        @minutes = Minutes.new(book, MINUTES_AT)
        forget
      end

      # Forgets what is pending: in a child it is its parent's.
      #
      # @return [void]
      def forget
        @lock = Mutex.new
        @pending = []
        @costs = {}
        @cheap = 0
      end

      # The first event in a second begins a round, before it is counted.
      #
      # @param second [Integer]
      # @return [void]
      def turn(second)
        return if second == @second && @pending.size < MOST_PENDING
        alone { second == @second ? add_up : round(second, PATIENCE) }
      end

      # A round at once.
      #
      # @param second [Integer]
      # @return [void]
      def finish(second) = alone { round(second, LAST_PATIENCE, ends: true) }

      # @param key [String]
      # @param misses [Integer] 1; 0 if it was counted
      # @param seconds [Float] that the block took
      # @return [void]
      def note(key, misses, seconds)
        weight = 1
        if seconds < DEAR_SECONDS && (@cheap += 1) > ALL_OF
          return unless (@cheap % SAMPLE).zero?
          weight = SAMPLE
        end
        @pending << [key, misses * weight, seconds * weight, seconds]
      end

      # @param key [String]
      # @param hits [Integer] for which it stands
      # @return [void]
      def note_hits(key, hits) = @pending << [key, 0, 0.0, 0.0, hits]

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

      # One thread does it at a time; the others go on.
      def alone
        return unless @lock.try_lock
        begin
          yield
        ensure
          @lock.unlock
        end
      end

      # Where another process has the file's lock, all of it waits for the next round.
      def round(second, patience, ends: false)
        @cheap = 0 if second != @second
        @second = second
        add_up
        return if @costs.empty? && second / 60 == @minute && !ends
        @book.hold(patience) { keep(second) }
      end

      def add_up
        @pending.shift(@pending.size).each do |key, misses, seconds, longest, hits|
          cost = @costs[@class_of.of(key)] ||= ClassTable::Cost.none
          cost.misses += misses
          cost.seconds += seconds
          cost.hits += hits if hits
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
