# frozen_string_literal: true

require_relative "../backend"
require_relative "../background_thread"
require_relative "../errors"
require_relative "journal"

module Tiercel
  class Tiers < Backend
    # Adds the changes that the last tier did not receive to the {Journal}, and replays them in the background: the last
    # tier deletes the frames under their keys, page by page. Until then these keys are pending, and no caller of this
    # machine reads them from the last tier.
    #
    # Any process may replay; the journal's term makes it one process at a time. The thread ends with the last key.
    # {#wake} starts the thread. Each note calls it, each caller that meets a pending key, and the listener of the bus
    # several times a second, for a machine without traffic.
    #
    # @private
    class Replay
      # The pause after the last tier has refused to delete, or has not answered.
      PAUSE_SECONDS = 1.0

      # @param near [Near]
      # @param last [Backend]
      # @param journal [Journal]
      def initialize(near, last, journal)
        @near = near
        @last = last
        @journal = journal
        @thread = BackgroundThread.new("tiercel journal", again: -> { journal.pending? }) { run }
      end

      # @param keys [Array<String>] keys of a change that the last tier may not have received
      # @param kind [Integer] see {Journal#note}
      # @param late [Boolean] whether the change may still arrive
      # @return [void]
      def note(keys, kind = Journal::FRAME, late: false)
        kept = @journal.note(keys, kind, late:)
        report_lost unless kept || @full
        @full = !kept
        wake
      end

      # @param keys [Array<String>]
      # @return [Array<String>] the pending ones among them
      def pending(keys)
        return [] unless @journal.pending?
        wake
        keys.select { |key| @journal.include?(key) }
      end

      # Starts the thread if any key is pending. Never waits.
      #
      # @return [void]
      def wake
        @thread.start if !@thread.running? && @journal.pending?
      end

      # Replays a page if one is due and no other process replays.
      #
      # @return [Float, nil] seconds until the next step; nil if no key is pending
      def step
        @incomplete = false
        wait = @journal.replay { |page| delete_page(page) }
        @incomplete ? PAUSE_SECONDS : wait
      rescue BackendError
        PAUSE_SECONDS
      end

      # @return [void]
      def close = @thread.stop

      private

      def run
        while (seconds = step)
          sleep(seconds) if seconds.positive?
        end
      end

      # The near copies go after the frames. Keys whose deletion failed are noted again before the page is done; if all
      # failed, the page stays. A user who may never change a key loses its note.
      def delete_page(page)
        report_lost if page.damaged
        failed = @last.delete_frames(page.frames).merge(delete_generations(page.generations))
        failed.reject! { |_, error| error.is_a?(Refused) && error.forbidden }
        raise failed.each_value.first if failed.any? && failed.size == page.frames.size + page.generations.size
        @near.forget(page.frames + page.generations - failed.keys)
        @incomplete ||= failed.any?
        { page.frames => Journal::FRAME, page.generations => Journal::GENERATION }.each do |keys, kind|
          left = keys & failed.keys
          @journal.note(left, kind) if left.any?
        end
      end

      # @return [Hash{String => BackendError}] as {Backend#delete_frames}
      def delete_generations(keys)
        keys.each_with_object({}) do |key, failed|
          @last.delete(key)
        rescue BackendError => error
          failed[key] = error
        end
      end

      def report_lost
        @near.clear(nil)
        @near.guard.call(:replay_journal) do
          raise Refused.new("the journal holds at most #{Journal::MOST_BYTES >> 20} MB of keys that it has to delete " \
                            "there, and has lost some: old values of them may be read until they expire",
                            backend: @last.to_s)
        end
      end
    end
  end
end
