# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../errors"
require_relative "../segment/notice"
require_relative "journal"

module Tiercel
  class Tiers < Backend
    # While the last tier takes no changes: what was to be written or deleted there is noted ({Journal}), and deleted
    # there before it is asked for anything else, so that nothing old comes back with it.
    #
    # @private
    class Outage
      # After the last tier has refused to delete (it may be read, but not written).
      PAUSE_SECONDS = 1.0

      # @return [String, nil] what the keys of the store's namespace begin with
      attr_writer :prefix

      # @param near [Near] in front of the last tier
      # @param last [Backend]
      def initialize(near, last)
        @near = near
        @last = last
        @journal = Journal.new(near.path)
        @again_at = nil
      end

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

      # Before anything is asked of the last tier.
      #
      # @return [void]
      # @raise [BackendError] where it still takes no changes
      # @raise [BreakerOpen] while another process repeats them: then it is not to be asked either
      def settle
        return unless @journal.pending?
        return if @again_at && Clock.monotonic < @again_at
        done = @journal.repeat { |changes| repeat(changes) }
        @again_at = nil
        raise BreakerOpen.new("not asked: what it missed is being deleted", backend: @last.to_s) unless done
      rescue Refused
        @again_at = Clock.monotonic + PAUSE_SECONDS
      end

      private

      def repeat(changes)
        keys = changes.keys.uniq
        @near.change(keys) { @last.delete_multi(keys) } unless keys.empty?
        changes.prefixes.each { |prefix| @near.clear(prefix) { @last.clear(prefix) } }
        give_up if changes.lost
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
