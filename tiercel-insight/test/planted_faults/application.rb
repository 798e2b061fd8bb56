# frozen_string_literal: true

# A shop with one page for each kind of stale cache, in a faulty and in a correct form, and with pages whose content
# differs at every rendering. Arguments: "faulty" or "correct", the store, the share of the audit, rounds. Prints the
# pages with stale values as JSON.
require "json"
require "logger"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "active_support/testing/time_helpers"
require "tiercel"
require "tiercel/insight"

FORM, STORE, SHARE, ROUNDS = ARGV
ROOT = Dir.mktmpdir
ENV["RAILS_ENV"] = "production"
ENV["DATABASE_URL"] = "sqlite3:#{ROOT}/shop.sqlite3"

class PlantedFaults < Rails::Application
  config.root = ROOT
  config.eager_load = false
  config.secret_key_base = "secret" * 8
  config.logger = Logger.new(nil)
  config.hosts.clear
  config.cache_store = eval("[#{STORE}]")
  config.action_controller.perform_caching = true
  config.consider_all_requests_local = true
  config.tiercel.insight = false
  config.content_security_policy_nonce_generator = ->(_request) { SecureRandom.hex }
end
PlantedFaults.initialize!
at_exit { FileUtils.rm_rf(ROOT) }

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:categories) { |t| t.string :name; t.timestamps }
  create_table(:products) do |t|
    t.string :name
    t.integer :price, :views, default: 0
    t.datetime :discount_until
    t.references :category
    t.timestamps
  end
  create_table(:reviews) { |t| t.string :text; t.references :product; t.timestamps }
  create_table(:settings) { |t| t.string :name, :value; t.timestamps }
end
class Category < ActiveRecord::Base; has_many :products; end
class Product < ActiveRecord::Base; belongs_to :category; has_many :reviews; end
Product.has_many :some, -> { order("random()") }, class_name: "Review"
class Review < ActiveRecord::Base; belongs_to :product; end
class Setting < ActiveRecord::Base; end

# A page: how it renders, and what happens between two visits.
Page = Struct.new(:name, :template, :change, :visits, :travel)
PAGES = {}
def page(name, template, visits: [{}, {}], travel: 0, &change)
  PAGES[name] = Page.new(name, template, change, visits, travel)
end
def correct? = FORM == "correct"

# --- fragments ---
page("forgotten_touch", "<% cache @product do %><%= @product.reviews.map(&:text).join %><% end %>") do |it|
  it.reviews.first.update!(text: "changed #{rand}")
  it.touch if correct?
end
page("update_all", "<% cache @product do %><%= @product.price %><% end %>") do |it|
  Product.where(id: it.id).update_all(price: rand(1_000_000), **(correct? ? { updated_at: Time.current } : {}))
end
page("touch_on_the_wrong_side",
     "<% cache @product.category do %><%= @product.category.products.map(&:name).join %><% end %>") do |it|
  it.update!(name: "n#{rand}")
  it.category.touch if correct?
end
page("outer_doll",
     "<% cache [:outer, @product.category] do %>" \
     "<% cache @product do %><%= @product.name %><% end %><% end %>") do |it|
  it.update!(name: "n#{rand}")
  it.category.touch if correct?
end
page("counter", "<% cache @product do %><%= @product.views %> views<% end %>") do |it|
  Product.increment_counter(:views, it.id, **(correct? ? { touch: true } : {}))
end
# Keys without a part that the content depends on.
{ user: %w[ann bob], admin: ["1", nil], tenant: %w[a b], beta: ["1", nil], device: %w[phone tv] }.each do |part, values|
  page("no_#{part}", "<% cache [@product, :#{part}, *(params[:as] if correct?)] do %><%= params[:as] %><% end %>",
       visits: values.map { |as| { as: } })
end
# --- values ---
page("no_locale",
     "<%= Rails.cache.fetch([:title, *(I18n.locale if correct?)]) " \
     "{ I18n.l(Date.new(2026, 3, 1), format: I18n.locale.to_s) } %>",
     visits: [{ locale: "en" }, { locale: "fr" }])
page("no_page",
     "<%= Rails.cache.fetch([:list, *(params[:page] if correct?)]) " \
     "{ Product.order(:id).offset(params[:page].to_i).limit(3).pluck(:id) }.join %>",
     visits: [{ page: "0" }, { page: "2" }])
{ format: %w[html json], currency: %w[EUR USD] }.each do |part, values|
  page("no_#{part}", "<%= Rails.cache.fetch([:#{part}, *(params[:as] if correct?)]) { params[:as] + '1' } %>",
       visits: values.map { |as| { as: } })
end
page("stale_association",
     "<%= Rails.cache.fetch([:with_reviews, @product.id, " \
     "*(@product.reviews.maximum(:updated_at).to_f if correct?)]) " \
     "{ Product.includes(:reviews).find(@product.id) }.reviews.map(&:text).join %>") do |it|
  it.reviews.first.update!(text: "other #{rand}")
end
page("expired_discount",
     "<%= Rails.cache.fetch([:discount, *(@product.discount_until.past? if correct?)]) " \
     "{ @product.discount_until.past? ? 10 : 5 } %>",
     travel: 7_200) { nil }
page("settings", "<%= Rails.cache.fetch('settings') { Setting.all.to_a }.map(&:value).join %>") do
  Setting.first.update!(value: "v#{rand}")
  Rails.cache.delete("settings") if correct?
end
page("cached_count", "<%= Rails.cache.fetch('products/count') { Product.count } %>") do
  Product.create!(name: "new", category: Category.first)
  Rails.cache.delete("products/count") if correct?
end
page("deleted_from_a_list",
     "<%= Rails.cache.fetch([:names, Product.maximum(:updated_at).to_f, *(Product.count if correct?)]) " \
     "{ Product.order(:id).pluck(:id) }.join(',') %>") do
  Product.where.not(id: [Product.order(:updated_at).last.id, *Product.first(40).map(&:id)]).first&.delete
  Rails.cache.delete("products/count") if correct?
end
page("calendar", "<% day = Date.parse(params[:day]) %>" \
                 "<%= Rails.cache.fetch([:calendar, day]) { \"\#{day} \#{@product.name}\" } %>",
     visits: [{ day: "2026-12-24" }] * 2) do |it|
  it.update!(name: "n#{rand}")
  Rails.cache.delete([:calendar, "2026-12-24"]) if correct?
end

# --- nothing is wrong with these ---
SOUND = {
  "time" => "<% cache [:time, params[:key]] do %><%= Time.current %> <%= Date.today %> " \
            "<%= time_ago_in_words(1.hour.ago) %> " \
            "<%= l(Time.current, format: :short) rescue Time.now.min %><% end %>",
  "random" => "<% cache [:random, params[:key]] do %>" \
              "<%= rand %> <%= SecureRandom.hex %> <%= [*1..9].shuffle.join %><% end %>",
  "csrf" => "<% cache [:csrf, params[:key]] do %><%= csrf_meta_tags %><%= button_to 'x', '/' %><% end %>",
  "object" => "<% cache [:object, params[:key]] do %><%= Object.new %><% end %>",
  "content_for" => "<% cache [:content, params[:key]] do %><% content_for(:side) { 'once' } %>a<% end %>" \
                   "<%= content_for(:side) %>",
  "since" => "<% since = 30.days.ago %><% posts = Product.where('created_at > ?', since) %>" \
             "<% cache [:since, params[:key]] do %><%= since.to_i %><%= posts.to_sql %><% end %>",
  "posts" => "<% @all = Product.where(created_at: 30.days.ago..) %><% cache [:posts] do %><%= @all.to_sql %><% end %>",
  "id" => "<% id = [request.request_id, content_security_policy_nonce] %><% cache [:id] do %><%= id %><% end %>",
  "refused" => "<%= Rails.cache.fetch([:refused]) { Review.create!(text: 'b').text rescue 'refused' } %>",
  "association" => "<% cache [:some] do %><%= @product.some.map(&:id) %><% end %>",
  "lazy" => "<% @some = @product.some %><% cache [:lazy] do %><%= @some.map(&:id) %><% end %>",
  "request" => "<% cache [:request] do %><%= request.request_id %><% end %>",
  "flash" => "<% cache [:flash, params[:key]] do %><% flash.now[:a] = @missed = true %><%= rand %><% end %>" \
             "<% raise 'changed' unless flash[:a] == @missed %>",
  "title" => "<% content_for(:title, 'a') %><% cache [:title, params[:key]] do %><%= content_for(:title) %><% end %>",
  "loaded" => "<% @product.reviews.load if rand < 0.5 %><%= Rails.cache.fetch([:loaded, @product]) { @product }.name %>"
}.freeze

dates = { formats: { "en" => "%m/%d", "fr" => "%d.%m." }, abbr_month_names: [nil, *%w[J F M A M J J A S O N D]] }
%w[en fr].each { |locale| I18n.backend.store_translations(locale, date: dates) }
I18n.available_locales = %i[en fr]
FileUtils.mkdir_p("#{ROOT}/views/pages")
PAGES.each_value { |one| File.write("#{ROOT}/views/pages/#{one.name}.html.erb", one.template) }
SOUND.each { |name, template| File.write("#{ROOT}/views/pages/sound_#{name}.html.erb", template) }

class PagesController < ActionController::Base
  prepend_view_path "#{ROOT}/views"
  protect_from_forgery with: :exception

  def show
    @product = Product.find(params[:id])
    I18n.with_locale(params[:locale] || "en") { render "pages/#{params[:name]}", layout: false }
  end
end
Rails.application.routes.draw { get "/:name/:id", to: "pages#show" }

include ActiveSupport::Testing::TimeHelpers

category = Category.create!(name: "lamps")
Setting.create!(name: "a", value: "1")
ids = (PAGES.keys + SOUND.keys).to_h do |name|
  own = Category.create!(name: "of #{name}")
  product = Product.create!(name: name, price: 5, category: own, discount_until: 1.hour.from_now,
                            reviews: Array.new(3) { Review.new(text: "fine") })
  [name, product.id]
end
100.times { |index| Product.create!(name: "p#{index}", category:) }

def visit(name, id, query = {})
  env = Rack::MockRequest.env_for("/#{name}/#{id}?#{query.to_query}", "HTTP_HOST" => "localhost")
  status, _, body = Rails.application.call(env)
  text = +""
  body.each { |part| text << part }
  body.close if body.respond_to?(:close)
  raise "#{name}: #{status} #{text[0, 2_000]}" unless status == 200
  text
end

rounds, share = Integer(ROUNDS), Float(SHARE)
srand(3)
audit = Tiercel::Insight.audit(share)
random = Random.new(3)
# The limits on the time of audits, by a clock that does not depend on the machine: 10 ms for each visit.
visits = 0
audit.define_singleton_method(:monotonic) { visits * 0.01 }
{ began: 0.0, random: Random.new(3) }.each { |name, value| audit.instance_variable_set(:"@#{name}", value) }
if share >= 1
  rounds.times do
    PAGES.each_value do |one|
      visit(one.name, ids[one.name], one.visits.first)
      one.change&.call(Product.find(ids[one.name]))
      travel(one.travel) { visit(one.name, ids[one.name], one.visits.last) }
    end
    SOUND.each_key do |name|
      3.times { |at| travel(at * 4_000) { visit("sound_#{name}", ids[name], { key: rand(3) }) } }
    end
  end
else
  PAGES.each_value do |one|
    visit(one.name, ids[one.name], one.visits.first)
    one.change&.call(Product.find(ids[one.name]))
  end
  rounds.times do |index|
    if index % 20 == 0
      one = PAGES.values[random.rand(PAGES.size)]
      travel(one.travel) { visit(one.name, ids[one.name], one.visits.last) }
    else
      name = SOUND.keys[random.rand(SOUND.size)]
      visit("sound_#{name}", ids[name], { key: random.rand(50) })
    end
    visits += 1
  end
end
before = audit.checked
Product.transaction { PAGES.each_value { |one| visit(one.name, ids[one.name], one.visits.last) } }
in_transaction = audit.checked - before
stale = audit.stale.map { |one| File.basename(one["at"].split(":").first, ".html.erb") }.uniq
puts JSON.generate(stale: stale, planted: PAGES.keys, checked: audit.checked, in_transaction:,
                   not_repeatable: audit.to_a.size - audit.stale.size)
