# frozen_string_literal: true

require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Can the cache grow without limit?
      class Bounds < Check
        private

        def examine
          case subject.kind
          when :file_store
            found("#{subject} never deletes unused entries: it grows until the disk is full",
                  fix: 'config.cache_store = :tiercel_store, "sqlite:storage/cache.sqlite3", { size: "10GB" }')
          when :solid_cache_store then solid_cache
          end
        end

        def solid_cache
          bounds = %i[max_size max_age max_entries].to_h { |name| [name, subject.store.public_send(name)] }.compact
          return sound("Solid Cache is bounded by #{bounds.map { |pair| pair.join(" ") }.join(", ")}") if bounds.any?
          found("Solid Cache has neither max_size nor max_age nor max_entries", fix: "set max_size in config/cache.yml")
        rescue NoMethodError
          unknown("the limits of Solid Cache are unknown")
        end
      end
    end
  end
end
