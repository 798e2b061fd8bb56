# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../errors"
require_relative "../key_pattern"
require_relative "../segment/notice"
require_relative "journal"

module Tiercel
  class Tiers < Backend
    # While the last tier takes no changes: what was to be written or deleted there is noted ({Journal}), and deleted
    # there before it is asked for anything else, so that nothing old comes back with it.
    #
    # @private
    class Outage
      # After the last tier has refused to delete (it may be read, but not written), or one of its servers was away.
      PAUSE_SECONDS = 1.0
      # After one was away for a clear, which the others are told again each time.
      CLEAR_PAUSE_SECONDS = 10.0

      # @return [String, nil] what the keys of the store's namespace begin with
      attr_writer :prefix

      # @param near [Near] in front of the last tier
      # @param last [Backend]
      # @param place [String] what that is
      def initialize(near, last, place)
        @near = near
        @last = last
        @journal = Journal.new(near.path, place, near.backend.segment)
        @again_at = nil
        @pause = PAUSE_SECONDS
        @partly = false
        @told = true
      end

      # Else what is read there may be what was to be deleted: such copies would outlive the repetition's delay.
      #
      # @return [Boolean] whether the last tier had been told everything when {#settle} let somebody ask it
      def told? = @told

      # @return [Boolean] whether there are changes that the last tier has not received
      def pending? = @journal.pending?

      # @param keys [Array<String>] that the last tier was to change, and perhaps did not
      # @return [void]
      def note(keys) = @journal.note(keys, (@prefix if @last.scannable?))

      # Without a prefix nothing is ever cleared later.
      #
      # @param prefix [String, nil] what was to be cleared
      # @return [void]
      def note_clear(prefix)
        @journal.note_clear(prefix) if prefix && @last.scannable?
      end

      # @param pattern [KeyPattern] of what was to be deleted
      # @return [void]
      def note_matching(pattern)
        dumped = pattern.dump if @last.scannable?
        @journal.note_matching(dumped, @prefix) if dumped
      end

      # Before anything is asked of the last tier.
      #
      # @return [void]
      # @raise [BackendError] where it still takes no changes
      # @raise [BreakerOpen] while another process repeats them: then it is not to be asked either
      def settle
        return @told = true unless @journal.pending?
        return @told = false if @again_at && Clock.monotonic < @again_at
        done = @journal.repeat { |changes| repeat(changes) }
        @told = done == true
        @again_at = done.nil? ? Clock.monotonic + @pause : nil
        @partly = done.nil? || (@partly && !done)
        return if done || @partly
        raise BreakerOpen.new("not asked: what it missed is being deleted", backend: @last.to_s)
      rescue Refused
        @told = false
        @again_at = Clock.monotonic + PAUSE_SECONDS
      end

      private

      # Near copies go *after* what is behind. What is not done stays noted, and until it is done nobody of the machine
      # fills what he reads there; so nothing is in doubt, however often it fails ({Near#change} would keep everybody
      # from filling the stripes of all these keys).
      #
      # @return [Symbol, nil] :stays where none of it is done
      def repeat(changes)
        give_up if changes.lost
        keys = changes.keys.uniq
        left = delete(keys)
        prefixes, patterns = changes.prefixes.uniq, changes.patterns.uniq
        kept = prefixes.reject { |prefix| clear(prefix) }
        unmatched = patterns.empty? ? patterns : delete_matching(patterns)
        @pause = kept.empty? && unmatched.empty? ? PAUSE_SECONDS : CLEAR_PAUSE_SECONDS
        return :stays if !changes.lost && [left, kept, unmatched] == [keys, prefixes, patterns]
        note(left) unless left.empty?
        kept.each { |prefix| note_clear(prefix) }
        unmatched.each { |pattern| @journal.note_matching(pattern, @prefix) }
        nil
      end

      # All patterns of one prefix in one pass over its keys.
      #
      # @param dumped [Array<String>]
      # @return [Array<String>] those of which some keys are on a server that is away, where others are not
      def delete_matching(dumped)
        patterns = dumped.filter_map { |bytes| KeyPattern.load(bytes) }
        @last.end_leases
        patterns.group_by(&:prefix).each do |prefix, of_one|
          matching(prefix, of_one).each_slice(Journal::BATCH) { |keys| delete_behind(keys) }
        end
        []
      rescue Refused => error
        error.forbidden ? [] : raise
      rescue Unavailable
        raise unless @last.several_servers?
        dumped
      end

      # A server that never lists its keys is not asked again and again.
      def matching(prefix, patterns)
        slow = []
        @last.scan(prefix).select { |key| (patterns - slow).any? { |pattern| match?(pattern, key, slow) } }
      rescue Refused
        []
      end

      # One that takes longer than Regexp.timeout would do so each time, in whatever call comes next.
      def match?(pattern, key, slow)
        pattern.match?(key)
      rescue Regexp::TimeoutError
        slow << pattern
        Segment::Notice.warn("what #{pattern.regexp.inspect} matches was to be deleted in #{@last} once it takes " \
                             "changes again, but took longer than Regexp.timeout to find: some of it may be read " \
                             "until it ends")
        false
      end

      # @return [Array<String>] those that are on a server that is away, where others are not
      def delete(keys)
        return keys if keys.empty?
        delete_behind(keys)
        []
      rescue Refused => error
        raise unless error.forbidden
        keys.one? ? [] : keys.flat_map { |key| delete([key]) } # those alone are dropped
      rescue Unavailable => error
        raise unless @last.several_servers?
        return keys if error.partial.nil? # no server answered
        give_up_at = Clock.monotonic + Journal::BUDGET_SECONDS
        keys.reject { |key| Clock.monotonic < give_up_at && deleted?(key) }
      end

      def delete_behind(keys)
        @last.delete_multi(keys)
        @near.forget(keys)
      end

      def deleted?(key)
        @last.delete(key)
        @near.forget([key])
        true
      rescue Unavailable
        false
      end

      # @return [Boolean] false where a server is away, and others are not
      def clear(prefix)
        @last.clear(prefix)
        @near.clear(prefix)
        true
      rescue Refused => error
        error.forbidden || raise
      rescue Unavailable
        raise unless @last.several_servers?
        false
      end

      # Nothing is flushed that may be others'.
      def give_up
        @near.clear(nil)
        Segment::Notice.warn("more keys were to be changed in #{@last} while it was away than #{@near} takes a note " \
                             "of: some of the old values may be read until they end. A namespace of the store's own " \
                             "would be cleared")
      end
    end
  end
end
