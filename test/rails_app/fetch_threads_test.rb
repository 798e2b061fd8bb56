# frozen_string_literal: true

require_relative "support"

# Refreshes in the background of an application: the state that they see, and the state that they leave.
class RailsAppFetchThreadsTest < RailsAppTest
  SCRIPT = <<~'RUBY'
    class Current < ActiveSupport::CurrentAttributes
      attribute :account
    end
    cache = Rails.cache
    pool = ActiveRecord::Base.connection_pool
    seen = Queue.new
    Rails.application.executor.wrap do
      caller = Thread.current
      Current.account = "acme"
      count = Product.count
      I18n.available_locales = [:en, :de]
      record = ActiveRecord::Base
      cache.write("name", "old", expires_in: 0.001)
      sleep 0.01
      record.while_preventing_writes do
        I18n.with_locale(:de) do
          puts cache.fetch("name", refresh: :background) {
            seen << [Thread.current == caller, Product.count == count, Current.account, I18n.locale,
                     record.current_preventing_writes]
            "new"
          }
        end
      end
      puts seen.pop.inspect
      puts "after it #{record.current_preventing_writes} #{Current.account}"
    end
    sleep 0.01 until cache.read("name") == "new" && Tiercel::Fetch::Refresh.idle?
    puts "connections in use #{pool.stat[:busy]}"
  RUBY

  SEEN = ["old", "[false, true, \"acme\", :de, true]", "after it false acme", "connections in use 0"].freeze

  RailsApp::LINES.values_at(0, -1).each do |line|
    define_method("test_refreshes_in_the_background_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        with_tmpdir do |dir|
          app.cache_store = %(:tiercel_store, "shared:#{dir}/segment", { size: "16MB", stale_while_revalidate: 600 })
          assert_equal SEEN, out(app.runner(SCRIPT)).lines(chomp: true)
        end
      end
    end
  end
end
