# frozen_string_literal: true

require_relative "../backend"
require_relative "../errors"

module Tiercel
  class Tiers < Backend
    # What was to be changed in the last tier while that took no change: keys, to be deleted there when it comes back,
    # what begins with a prefix, and what matches a pattern. Never values: what was written meanwhile is old by then,
    # and somebody else may have written since.
    #
    # Where a `shared:` tier is in front it is a file beside that segment ({File}), for all processes of the machine;
    # else, and for what that file does not take, it is this process's ({Own}).
    #
    # @private
    class Journal
      # Bytes of keys that it takes, and how many.
      MOST_BYTES = 1 << 20
      MOST_KEYS = 16_384
      # Keys that are repeated in one call of the last tier.
      BATCH = 500
      # Repeating goes on for so long within one call; the next one goes on with it.
      BUDGET_SECONDS = 0.25

      # What is to be repeated. `patterns`: dumped ones. `lost`: there was more than it could take, of which it does
      # not know the keys.
      Changes = Struct.new(:keys, :prefixes, :patterns, :lost)

      # @param path [String, nil] of the segment that it lies beside
      # @param far [String] what the last tier is
      # @param segment [Segment, nil] that one, where its word says whether there may be something
      def initialize(path, far, segment = nil)
        @own = Own.new
        @file = File.new(path, far) if path
        @segment = segment
      end

      # @param keys [Array<String>]
      # @param prefix [String, nil] what is to be cleared where there is no room for the keys
      # @return [void]
      def note(keys, prefix)
        (@file&.note(keys, prefix) && tell) || @own.note(keys, prefix)
      end

      # @param prefix [String] whose keys were to be cleared
      # @return [void]
      def note_clear(prefix)
        (@file&.note_clear(prefix) && tell) || @own.note_clear(prefix)
      end

      # @param pattern [String] of {KeyPattern#dump}
      # @param prefix [String, nil] see {#note}
      # @return [void]
      def note_matching(pattern, prefix)
        (@file&.note_matching(pattern, prefix) && tell) || @own.note_matching(pattern, prefix)
      end

      # Asked before each call of the last tier. The file is looked at where the segment's word is another one than it
      # was when there was nothing: somebody has noted something, or a second has passed.
      #
      # @return [Boolean] whether there is anything to be repeated
      def pending?
        return true if @own.pending?
        return false unless @file
        noted = @segment&.near_noted
        return false if noted && noted == @nothing_at
        @file.pending?.tap { |pending| @nothing_at = pending ? nil : noted }
      rescue BackendError
        @file.pending? # there is no segment at present
      end

      # Repeats what there is. What the block raises ends it, and what is not done stays.
      #
      # @yieldparam changes [Changes] a part of it
      # @yieldreturn [Symbol, Object] :stays where none of it could be done
      # @return [Boolean, nil] false if it is not done: another process or thread is at it, or it takes too long for one
      #   call; nil if the block said that something stays
      def repeat(&)
        give_up_at = Clock.monotonic + BUDGET_SECONDS
        answers = [@own, @file].compact.map { |kept| !kept.pending? || kept.repeat(give_up_at, &) }
        answers.include?(false) ? false : answers.all? || nil
      end

      private

      # @return [Boolean] false where there is no segment: then other processes do not look at once
      def tell
        @segment&.near_note
        true
      rescue BackendError
        false
      end
    end
  end
end

require_relative "journal/file"
require_relative "journal/own"
