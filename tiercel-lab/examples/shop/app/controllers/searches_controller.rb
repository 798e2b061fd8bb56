# frozen_string_literal: true

class SearchesController < ApplicationController
  rate_limit to: Integer(ENV.fetch("SEARCHES_A_MINUTE", "10")), within: 1.minute

  def show
    @products = Product.where("name LIKE ?", "%#{Product.sanitize_sql_like(params[:q].to_s)}%").first_ones(10)
  end
end
