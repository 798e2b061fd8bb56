# frozen_string_literal: true

require_relative "../check"
require_relative "../../sizes"

module Tiercel
  class Doctor
    module Checks
      # Does memcached accept the values that the application writes?
      class Memcached < Check
        private

        def examine
          each_server do |server, stats|
            too_large = stats["store_too_large"].to_i
            next sound("#{server} has not refused any value because of its size") if too_large.zero?
            found("#{server} has refused #{too_large} values above its size limit",
                  fix: "raise memcached's -I (now #{limit(stats)}), or compress: these values are never cached")
          end
        end

        def limit(stats) = stats["item_size_max"] ? Sizes.human(stats["item_size_max"].to_i) : "1 MB by default"

        def each_server(&)
          if subject.over?("Memcached") then subject.last.server_stats.each(&)
          elsif subject.kind == :mem_cache_store then rails_stats.each(&)
          end
        end

        def rails_stats
          subject.store.stats.to_h { |server, stats| ["memcached #{server}", stats || {}] }
        end
      end
    end
  end
end
